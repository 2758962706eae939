/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks/transport.h"

#include <stdlib.h>

/* The number of a variable of the environment; 0: it has none. */
static int number_of(const char *name)
{
    const char *text = getenv(name);
    char *end;
    const long number = text ? strtol(text, &end, 10) : 0;
    return text && end != text && *end == 0 && number > 0 && number < 1 << 20 ? (int)number : 0;
}

/* OpenMPI's mpirun; MPICH's and Intel's, and Slurm's srun --mpi=pmi2. srun --mpi=pmix says the number in its own
 * variable alone, which every process of a job step has, also those that do not belong together. */
int ranks_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (number_of(names[i]) > 0)
            return number_of(names[i]);
    const int step = getenv("PMIX_RANK") ? number_of("SLURM_STEP_NUM_TASKS") : 0;
    return step > 0 ? step : 1;
}

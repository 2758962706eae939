/* SPDX-License-Identifier: Apache-2.0 */
#include "config/synonyms.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

const struct synonym synonyms[] = {
    /* training */
    {"learning_rate", "lr alpha eta step_size max_lr"},
    {"minimum_learning_rate", "min_lr lr_min end_lr"},
    {"schedule", "lr_scheduler lr_scheduler_type lr_schedule scheduler decay"},
    {"warmup_steps", "warmup num_warmup_steps warmup_iters"},
    {"steps", "max_steps num_steps iterations iters max_iters n_steps train_steps num_iterations updates"},
    {"epochs", "epoch num_epochs n_epochs num_train_epochs max_epochs"},
    {"batch_size", "batch bs train_batch_size per_device_train_batch_size mini_batch_size"},
    {"max_new_tokens", "max_tokens n_predict num_predict max_length n"},
    {"batch_tokens", "max_tokens tokens_per_batch"},
    {"gradient_accumulation_steps",
     "grad_accum grad_accum_steps gradient_accumulation accumulation accumulate_grad_batches update_freq"},
    {"weight_decay", "wd l2"},
    {"max_grad_norm",
     "clip grad_clip clip_grad clip_norm gradient_clip gradient_clipping clip_grad_norm gradient_clip_val"},
    {"beta1", "adam_beta1"},
    {"beta2", "adam_beta2"},
    {"epsilon", "eps adam_eps adam_epsilon"},
    {"optimizer", "optim opt"},
    {"seed", "random_seed random_state manual_seed"},
    {"log_every", "log_interval log_steps logging_steps"},
    {"evaluate_every", "eval_every eval_interval eval_steps val_every val_interval"},
    {"checkpoint_every", "save_every save_interval save_steps checkpoint_interval"},
    {"precision", "dtype torch_dtype data_type mixed_precision"},
    {"lora_rank", "lora_r"},
    {"lora_targets", "target_modules"},
    {"init", "init_from pretrained pretrained_model model model_name_or_path from_pretrained load load_from "
             "base_model"},
    /* the model */
    {"hidden_size",
     "d_model dim n_embd n_embed embed_dim embedding_dim emb_dim width model_dim hidden_dim hidden"},
    {"num_hidden_layers", "layers n_layer n_layers num_layers depth num_blocks n_blocks"},
    {"num_encoder_layers", "encoder_layers"},
    {"num_attention_heads", "heads n_head n_heads num_heads nhead attention_heads"},
    {"num_key_value_heads", "n_kv_head n_kv_heads kv_heads num_kv_heads n_head_kv num_query_groups gqa"},
    {"key_is_value", "attention_k_eq_v k_eq_v share_kv shared_kv shared_key_value kv_sharing"},
    {"head_dim", "d_head d_k head_size dim_head"},
    {"intermediate_size",
     "d_ff ff_dim ffn_dim ffn_size dim_feedforward d_inner n_inner ffn_hidden_size mlp_dim"},
    {"hidden_act", "activation activation_function act_fn"},
    {"context", "ctx n_ctx ctx_size context_length context_size max_length c"},
    {"sequence_length", "seq_len seqlen seq_length max_seq_len max_seq_length context context_length "
                        "block_size n_ctx ctx_len max_length max_len"},
    {"max_position_embeddings", "n_positions max_positions"},
    {"norm", "norm_type normalization normalisation"},
    {"norm_epsilon", "norm_eps layer_norm_eps layer_norm_epsilon rms_norm_eps"},
    {"rope_theta", "theta base rope_base rope_freq_base rotary_base rotary_emb_base"},
    {"partial_rotary_factor", "rotary_pct rotary_percent rotary_fraction rope_pct"},
    {"position",
     "positions pe pos_enc position_encoding positional_encoding position_embedding_type encoding"},
    {"positions", "position pe pos_enc position_encodings encodings encoding"},
    {"dropout", "p_drop dropout_rate resid_pdrop hidden_dropout hidden_dropout_prob"},
    {"attention_dropout", "attn_dropout attn_pdrop attention_probs_dropout_prob"},
    {"tie_word_embeddings", "tie_embeddings tie_embedding tie_weights weight_tying tied"},
    {"bias", "use_bias"},
    /* values */
    {"bf16", "bfloat16 fp16 float16 half 16"},
    {"f32", "fp32 float32 float full 32"},
    {"swiglu", "silu swish"},
    {"none", "nope no_pe"},
    {"rope", "rotary roformer"},
    {"sinusoidal", "sincos sine vaswani"},
    {"learned", "absolute learnable trainable"},
    {"shaw", "relative rpr"},
    {"transformer-xl", "xl"},
    {"decoder", "gpt causal decoder_only"},
    {"encoder", "bert encoder_only"},
    {"encoder_decoder", "seq2seq"},
    {"cosine", "cosine_with_warmup cosine_decay"},
    {"linear", "linear_with_warmup linear_decay"},
    {"constant", "constant_with_warmup fixed"},
    {"inverse_square_root", "inverse_sqrt isqrt rsqrt"},
    /* options */
    {"threads", "num_threads n_threads nthreads workers num_workers cpus cores t"},
    {"jobs", "num_jobs n_jobs parallel nproc j"},
    {"runs", "num_runs n_runs trials repeats replicates num_seeds"},
    {"out", "o html output_file output_dir out_dir outdir save_dir logdir log_dir run_dir results_dir"},
    {"output", "o output_file out_file"},
    {"text", "data dataset corpus file train_file data_path data_dir prompt input"},
    {"prompt", "p input text"},
    {"input", "i in file"},
    {"checkpoint", "ckpt"},
    {"preset", "config configuration config_file cfg settings"},
    {"config", "preset configuration config_file cfg model"},
    {"tensorboard", "tb wandb"},
    {"repetition_penalty", "repeat_penalty"},
    {"temperature", "temp"},
    {"stop", "stop_sequence stop_sequences stop_token eos"},
    {"beams", "num_beams beam beam_size"},
    {"length_penalty", "lenpen"},
    {"evaluate_lengths", "lengths eval_lengths"},
    /* commands, tasks, topics of the help */
    {"compare", "benchmark cmp"},
    {"train", "fit finetune fine_tune pretrain"},
    {"evaluate", "eval test score validate perplexity"},
    {"generate", "sample complete chat infer"},
    {"report", "plot show results"},
    {"export", "convert"},
    {"classify", "predict"},
    {"tokenize", "tokenise"},
    {"bleu", "sacrebleu"},
    {"help", "man usage list commands"},
    {"info", "doctor about system"},
    {"language", "lm clm language_modeling language_modelling"},
    {"masked", "mlm"},
    {"translation", "mt nmt"},
    {"classification", "glue"},
    {"addition", "add arithmetic"},
    {"settings", "keys config configuration parameters"},
    {"presets", "configs configurations"},
    {NULL, NULL},
};

static bool is_dash(char letter)
{
    return letter == '-' || letter == '_';
}

/* Compares a name with the first `length` characters of the other. */
static bool same(const char *name, const char *other, size_t length)
{
    const char *end = other + length;
    for (;;) {
        while (is_dash(*name))
            name++;
        while (other < end && is_dash(*other))
            other++;
        if (other == end || *name == 0)
            return other == end && *name == 0;
        if (tolower((unsigned char)*name++) != tolower((unsigned char)*other++))
            return false;
    }
}

bool synonym_same(const char *name, const char *other)
{
    return same(name, other, strlen(other));
}

bool synonym_listed(const char *name, const char *list)
{
    for (const char *word = list; *word; word += *word == ' ') {
        const size_t length = strcspn(word, " ");
        if (same(name, word, length))
            return true;
        word += length;
    }
    return false;
}

bool synonym_of(const char *theirs, const char *ours)
{
    if (synonym_same(theirs, ours))
        return true;
    for (const struct synonym *synonym = synonyms; synonym->ours; synonym++)
        if (synonym_same(synonym->ours, ours) && synonym_listed(theirs, synonym->theirs))
            return true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The one file that includes SentencePiece, and the one in C++. Every function that calls the library catches
 * what it throws.
 */
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <sentencepiece_trainer.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

extern "C" {
#include "base/fail.h"
#include "text/tokenizer/sentencepiece_library.h"
}

struct sentencepiece_processor {
    sentencepiece::SentencePieceProcessor library;
};

namespace
{

namespace util = sentencepiece::util;

/* The lines that the trainer asks for, one by one. */
class line_iterator : public sentencepiece::SentenceIterator
{
  public:
    line_iterator(const struct text_line *lines, int64_t count) : lines_(lines), count_(count)
    {
        take();
    }
    bool done() const override
    {
        return next_ >= count_;
    }
    void Next() override
    {
        next_++;
        take();
    }
    const std::string &value() const override
    {
        return value_;
    }
    util::Status status() const override
    {
        return util::Status();
    }

  private:
    void take()
    {
        if (!done())
            value_.assign(lines_[next_].bytes, static_cast<size_t>(lines_[next_].count));
    }
    const struct text_line *lines_;
    int64_t count_, next_ = 0;
    std::string value_;
};

/* Finds, in a message "file(line) [condition] text", the text; without one, all of it. */
const char *text_of(const util::Status &status)
{
    const char *message = status.message(), *bracket = std::strstr(message, "] ");
    for (const char *next = bracket; next; next = std::strstr(next + 1, "] "))
        bracket = next;
    return bracket && bracket[2] != '\0' ? bracket + 2 : message;
}

/* An error of the library, in one line: its messages quote pieces, which may have any character. */
rotary_status fail(rotary_status status, const char *message, rotary_error *error)
{
    char line[200];
    size_t length = 0;
    for (; message[length] != '\0' && length < sizeof line - 1; length++)
        line[length] = message[length] >= 0 && message[length] < ' ' ? ' ' : message[length];
    line[length] = '\0';
    return rotary_fail(error, status, "SentencePiece says: %s", line);
}

/* Calls what may throw. `status` is that of an exception which is no lack of memory. */
template <typename function>
rotary_status guarded(rotary_status status, rotary_error *error, function call) noexcept
{
    try {
        return call();
    } catch (const std::bad_alloc &) {
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for SentencePiece");
    } catch (const std::exception &caught) {
        return fail(status, caught.what(), error);
    } catch (...) {
        return rotary_fail(error, status, "SentencePiece fails");
    }
}

using arguments = std::unordered_map<std::string, std::string>;

/* Lets the library log fatal errors alone. */
const char *const log_level = "3";

/* The level is a variable of the library, which only its trainer sets: this training, without lines, fails.
 */
bool silence()
{
    std::string model;
    line_iterator none(nullptr, 0);
    (void)sentencepiece::SentencePieceTrainer::Train(arguments{{"minloglevel", log_level}}, &none, &model)
        .ok();
    return true;
}

void silence_once()
{
    static const bool done = silence(); /* C++ lets one thread do it, and the others wait */
    (void)done;
}

const char *const mask_names[] = {"<mask>", "[MASK]"};

arguments arguments_of(const struct sentencepiece_config *config)
{
    const struct special_tokens &special = config->special;
    arguments made{{"minloglevel", log_level},
                   {"model_type", sentencepiece_model_names[config->model]},
                   {"vocab_size", std::to_string(config->vocabulary_size)},
                   {"character_coverage", std::to_string(config->character_coverage)},
                   {"byte_fallback", config->byte_fallback ? "true" : "false"},
                   {"max_sentence_length", std::to_string(config->max_line_bytes)},
                   {"num_threads", "1"},
                   {"pad_id", std::to_string(special.padding)},
                   {"unk_id", std::to_string(special.unknown)},
                   {"bos_id", std::to_string(special.begin)},
                   {"eos_id", std::to_string(special.end)}};
    if (config->mask)
        made["control_symbols"] = mask_names[0];
    return made;
}

/* The control symbol that is the mask; -1: there is none. */
int mask_of(const sentencepiece::SentencePieceProcessor &library)
{
    for (const char *name : mask_names) {
        const int id = library.PieceToId(name);
        if (library.IsControl(id) && library.IdToPiece(id) == name)
            return id;
    }
    return -1;
}

} // namespace

rotary_status sentencepiece_processor_create(struct sentencepiece_processor **processor, const char *bytes,
                                             int64_t count, rotary_error *error)
{
    struct sentencepiece_processor *made = nullptr;
    rotary_status status = guarded(ROTARY_BAD_FILE, error, [&] {
        silence_once();
        made = new sentencepiece_processor;
        const util::Status loaded =
            made->library.LoadFromSerializedProto(std::string_view(bytes, static_cast<size_t>(count)));
        if (!loaded.ok())
            return fail(ROTARY_BAD_FILE, text_of(loaded), error);
        return ROTARY_OK;
    });
    if (status == ROTARY_OK)
        *processor = made;
    else
        delete made;
    return status;
}

void sentencepiece_processor_destroy(struct sentencepiece_processor *processor)
{
    delete processor;
}

int64_t sentencepiece_processor_size(const struct sentencepiece_processor *processor)
{
    return processor->library.GetPieceSize();
}

struct special_tokens sentencepiece_processor_special(const struct sentencepiece_processor *processor)
{
    const sentencepiece::SentencePieceProcessor &library = processor->library;
    return {library.pad_id(), library.unk_id(), library.bos_id(), library.eos_id(), mask_of(library)};
}

struct token_text sentencepiece_processor_text(const struct sentencepiece_processor *processor, int32_t token)
{
    const std::string &piece = processor->library.IdToPiece(token);
    return {piece.data(), static_cast<int64_t>(piece.size())};
}

rotary_status sentencepiece_processor_encode(const struct sentencepiece_processor *processor,
                                             const char *text, int64_t bytes, struct token_list *list,
                                             rotary_error *error)
{
    return guarded(ROTARY_INVALID_ARGUMENT, error, [&] {
        std::vector<int> ids;
        const util::Status encoded =
            processor->library.Encode(std::string_view(text, static_cast<size_t>(bytes)), &ids);
        if (!encoded.ok())
            return fail(ROTARY_INVALID_ARGUMENT, text_of(encoded), error);
        for (int id : ids) {
            if (list->count < list->capacity)
                list->tokens[list->count++] = id;
            else
                list->left_out++;
        }
        return ROTARY_OK;
    });
}

int64_t sentencepiece_processor_decode(const struct sentencepiece_processor *processor, const int32_t *tokens,
                                       int64_t count, char *text, int64_t capacity)
{
    int64_t bytes = 0;
    if (capacity > 0)
        text[0] = '\0';
    (void)!guarded(ROTARY_INVALID_ARGUMENT, nullptr, [&] {
        std::string decoded;
        if (!processor->library.Decode(std::vector<int>(tokens, tokens + count), &decoded).ok())
            return ROTARY_INVALID_ARGUMENT;
        bytes = static_cast<int64_t>(decoded.size());
        if (capacity > 0) {
            const int64_t kept = bytes < capacity ? bytes : capacity - 1;
            std::memcpy(text, decoded.data(), static_cast<size_t>(kept));
            text[kept] = '\0';
        }
        return ROTARY_OK;
    });
    return bytes;
}

rotary_status sentencepiece_library_train(const struct sentencepiece_config *config,
                                          const struct text_line *lines, int64_t count, char **model,
                                          int64_t *bytes, rotary_error *error)
{
    return guarded(ROTARY_INVALID_ARGUMENT, error, [&] {
        std::string trained;
        line_iterator iterator(lines, count);
        silence_once();
        const util::Status status =
            sentencepiece::SentencePieceTrainer::Train(arguments_of(config), &iterator, &trained);
        if (!status.ok())
            return fail(ROTARY_INVALID_ARGUMENT, text_of(status), error);
        *model = static_cast<char *>(std::malloc(trained.size()));
        if (!*model)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a model of %zu bytes",
                               trained.size());
        std::memcpy(*model, trained.data(), trained.size());
        *bytes = static_cast<int64_t>(trained.size());
        return ROTARY_OK;
    });
}

const char *sentencepiece_library_version(void)
{
    return ROTARY_SENTENCEPIECE_VERSION;
}

/** Keys of data loaders, the same for train_input and eval_input: rows of the table in
 *  params_keys.c, whose macros they use. Names and defaults are those of the Model Zoo
 *  (data/nlp and data_preparation, releases 1.6 to 2.6). */
#ifndef WSC_ZOO_INPUT_KEYS_H
#define WSC_ZOO_INPUT_KEYS_H

/* clang-format off */
/** Rows of the section @p in. */
#define INPUT(in)                                                                                  \
    {FIELD(in.data_processor), STRING, REQUIRED, DOC("class of the data loader")},                 \
    {AT(#in ".data_dir", in), SPECIAL(data_dir), NULLABLE, DEFAULT("null"),                        \
     .form = "directory or list of them",                                                          \
     DOC("directories with *.h5 files, at most 64; of NumpyMmapDataset the files themselves")},    \
    {AT(#in ".mixture", in), SPECIAL(mixture), NULLABLE, DEFAULT("null"),                          \
     .form = "list of maps with data_dir, weight, data_subset",                                    \
     DOC("instead of data_dir: several data sets, mixed by weight")},                              \
    {AT(#in ".data_subset", in), SPECIAL(data_subset), NULLABLE, DEFAULT("null"),                  \
     .form = "ranges such as 0.0-0.5,0.8-1.0",                                                     \
     DOC("fractions of data_dir that are used; null: all")},                                       \
    {FIELD(in.num_samples), INT, PAST(TRAINING), NULLABLE, DEFAULT("null"), RANGE(1, MAX_STEPS),   \
     DOC("samples of an epoch; null: each once")},                                                 \
    {FIELD(in.use_vsl), BOOL, PAST(TRAINING), DEFAULT("false"),                                    \
     DOC("samples hold several texts, which do not see each other")},                              \
    {FIELD(in.batch_size), INT, PAST(TRAINING), REQUIRED, RANGE(1, MAX_SAMPLES),                   \
     DOC("global batch in sequences, shared by the systems")},                                     \
    {AT(#in ".micro_batch_size", in), SPECIAL(micro_batch), NO_VALUES, DEFAULT("auto"),            \
     .form = "whole number, auto, null, explore or {explore: {min, max}}",                         \
     DOC("sequences that one system computes at a time; null: its whole share; explore: of "       \
         "training, print the speed of every size and stop")},                                     \
    {FIELD(in.shuffle), BOOL, PAST(TRAINING), DEFAULT("false"),                                    \
     DOC("permute the samples in every epoch")},                                                   \
    {FIELD(in.shuffle_seed), INT, PAST(TRAINING), NULLABLE, DEFAULT("0"), RANGE(-DBL_MAX, DBL_MAX),\
     DOC("seed of that permutation")},                                                             \
    {FIELD(in.repeat), BOOL, DEFAULT("true"), DOC("start again after the last sample")},           \
    {FIELD(in.drop_last), BOOL, DEFAULT("true"), DOC("leave out a last incomplete batch")},        \
    {FIELD(in.max_sequence_length), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),             \
     DOC("tokens per sample, which corpus files need; null: max_position_embeddings")},            \
    {AT(#in ".data_transforms", in), SPECIAL(transforms), .form = "list of maps with a name",      \
     DOC("add_sink_tokens: num_sink_tokens times sink_token_id before every sample")},             \
    {FIELD(in.tgt_max_sequence_length), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),         \
     DOC("seq2seq: tokens of a target")},                                                          \
    {KEY(#in ".tgt_vocab_file"), NO_EFFECT, DOC("the loader has vocab_file for targets too")},     \
    {FIELD(in.tgt_data_dir), STRING, NULLABLE, DEFAULT("null"),                                    \
     DOC("translation: directory of the files of targets; null: data_dir")},                       \
    {FIELD(in.extra_ids), INT, NULLABLE, DEFAULT("0"), RANGE(0, 1 << 16),                          \
     DOC("span corruption: sentinels after the tokens of vocab_file")},                            \
    {KEY(#in ".pack_sequences"), ONLY(OFF), DOC("several documents in a sequence")},               \
    {KEY(#in ".num_documents_to_concatenate"), NO_EFFECT, DOC("pack_sequences only")},             \
    {KEY(#in ".dynamic_loss_weight"), NO_EFFECT, DOC("model.mlm_loss_scaling says it")},           \
    {FIELD(in.num_workers), INT, NO_VALUES, NULLABLE, DEFAULT("0"), RANGE(0, 1024),                \
     DOC("loader processes of each input worker, for virtual time; 0: the worker itself loads")},  \
    {FIELD(in.vocab_file), STRING, NULLABLE, DEFAULT("null"),                                      \
     DOC("vocab.txt or tokenizer.json of WordPiece, of loaders that read texts")},                 \
    {FIELD(in.label_vocab_file), STRING, NULLABLE, DEFAULT("null"),                                \
     DOC("token classification: JSON object of labels to numbers")},                               \
    {FIELD(in.do_lower), BOOL, DEFAULT("false"), DOC("texts and vocabulary in lower case")},       \
    {FIELD(in.masked_lm_prob), DOUBLE, NULLABLE, DEFAULT("0.15"), RANGE(0, 1),                     \
     DOC("dynamic masking: fraction of the tokens that are predicted")},                           \
    {FIELD(in.mask_whole_word), BOOL, DEFAULT("false"),                                            \
     DOC("dynamic masking: all pieces of a word together")},                                       \
    {FIELD(in.max_predictions_per_seq), INT, NULLABLE, DEFAULT("20"), RANGE(1, 1 << 20),           \
     DOC("most masked tokens of a sequence")},                                                     \
    {FIELD(in.max_cls_tokens), INT, NULLABLE, DEFAULT("50"), RANGE(1, 1 << 20),                    \
     DOC("summarization: most sentences of a sequence")},                                          \
    {KEY(#in ".whole_word_masking"), NO_EFFECT, DOC("the loaders read mask_whole_word")},          \
    {KEY(#in ".gather_mlm_labels"), NO_EFFECT, DOC("the head takes masked tokens alone")},         \
    {KEY(#in ".disable_nsp"), NO_EFFECT, DOC("that of the model counts")},                         \
    {KEY(#in ".input_pad_id"), ONLY({"null", 0}, {"0", 0}), DOC("id of padding")},                 \
    {KEY(#in ".labels_pad_id"), NO_EFFECT, DOC("labels of padding do not count")},                 \
    {KEY(#in ".attn_mask_pad_id"), ONLY({"null", 0}, {"0", 0}), DOC("mask of padding")},           \
    {KEY(#in ".segment_pad_id"), ONLY({"null", 0}, {"0", 0}), DOC("token type of padding")},       \
    {AT(#in ".buckets", in), SPECIAL(buckets), PAST(TRAINING), NULLABLE, DEFAULT("null"),          \
     .form = "list of rising whole numbers",                                                       \
     DOC("boundaries of lengths: a batch has sequences between the same two")},                    \
    {KEY(#in ".dynamic_mlm_scale"), ONLY(OFF), DOC("write model.mlm_loss_scaling")},               \
    ZOO_DIFFUSION_INPUT(in),                                                                       \
    {KEY(#in ".prefetch_factor"), NO_EFFECT, DOC("batches that a loader reads ahead")},            \
    {KEY(#in ".persistent_workers"), NO_EFFECT, DOC("keep loader processes between epochs")},      \
    {KEY(#in ".use_worker_cache"), NO_EFFECT, DOC("copy the data to the workers' disks first")},   \
    {KEY(#in ".vocab_size"), NO_EFFECT, DOC("used by synthetic data only")},                       \
    {KEY(#in ".num_examples"), NO_EFFECT, DOC("used by synthetic data only")},                     \
    {KEY(#in ".shuffle_buffer"), NO_EFFECT, DOC("the whole data set is permuted")},                \
    {KEY(#in ".pad_last"), NO_EFFECT, DOC("there is no incomplete batch")},                        \
    {KEY(#in ".features_list"), NO_EFFECT, DOC("names of the rows, which are always the same")},   \
    {KEY(#in ".sort_files"), ONLY({"null", 0}, {"true", 0}), DOC("files in the order of paths")},  \
    {KEY(#in ".mixed_precision"), NOISE, DOC("no longer a key of the data loader")},               \
    {KEY(#in ".use_multiple_workers"), NOISE, DOC("no longer a key of the data loader")}
/* clang-format on */
#endif

/** Readers and writers of keys with special values, which the rows of params_keys.c name.
 *  Implemented in params_values.c, params_input.c, initializers.c, zoo_families.c, zoo_schedules.c,
 *  sparsity_values.c, optimizer_values.c, rope_values.c, diffusion_values.c, tuning_values.c,
 *  tag_values.c and generation_keys.c. */
#ifndef WSC_ZOO_PARAMS_VALUES_H
#define WSC_ZOO_PARAMS_VALUES_H
#include <wsc/zoo.h>

/** Most steps that a key counts. */
#define ZOO_MOST_STEPS INT64_C(1000000000000000)

/* Pairs of `read` and `write` of rows (struct conf_key). A parameter called input or optimizer is
 * the section of the key: struct zoo_input or zoo_optimizer. A field is the value of the key: an
 * int64_t, a double, a text, an enum or a struct of <wsc/zoo.h>. */

void zoo_read_data_dir(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *input);
void zoo_read_mixture(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *input);
void zoo_read_buckets(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *input);
void zoo_write_buckets(struct wsc_text *out, const void *input, const struct conf_layout *at);
void zoo_read_data_subset(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input);
void zoo_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field);
void zoo_read_eval_frequency(struct conf_parse *p, const struct conf_key *key,
                             const struct conf_node *node, void *runconfig);
void zoo_write_eval_frequency(struct wsc_text *out, const void *runconfig,
                              const struct conf_layout *at);
void zoo_read_lanes(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field);
void zoo_read_initializer(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field);
void zoo_read_schedule(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *field);
void zoo_read_decay(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field);
void zoo_read_betas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *optimizer);
void zoo_read_etas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *optimizer);
void zoo_read_step_sizes(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *optimizer);
void zoo_read_eps(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                  void *optimizer);
void zoo_read_states(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field);
void zoo_write_states(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_loss_scale(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *field);
void zoo_read_family(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field);
void zoo_write_family(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_transforms(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *input);
void zoo_write_transforms(struct wsc_text *out, const void *input, const struct conf_layout *at);
void zoo_write_mixture(struct wsc_text *out, const void *input, const struct conf_layout *at);
void zoo_write_data_subset(struct wsc_text *out, const void *input, const struct conf_layout *at);
void zoo_write_data_dir(struct wsc_text *out, const void *input, const struct conf_layout *at);
void zoo_write_micro_batch(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_lanes(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_initializer(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_schedule(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_betas(struct wsc_text *out, const void *optimizer, const struct conf_layout *at);
void zoo_write_etas(struct wsc_text *out, const void *optimizer, const struct conf_layout *at);
void zoo_write_step_sizes(struct wsc_text *out, const void *optimizer,
                          const struct conf_layout *at);
void zoo_write_eps(struct wsc_text *out, const void *optimizer, const struct conf_layout *at);
void zoo_read_sparsity(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *list);
void zoo_write_sparsity(struct wsc_text *out, const void *list, const struct conf_layout *at);
void zoo_read_freeze(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field);
void zoo_write_freeze(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_stops(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field);
void zoo_write_stops(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_lora(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *field);
void zoo_write_lora(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_selective(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *field);
void zoo_write_selective(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_read_tags(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *groups);
void zoo_write_tags(struct wsc_text *out, const void *groups, const struct conf_layout *at);
void zoo_read_tagged(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *groups);
void zoo_write_tagged(struct wsc_text *out, const void *groups, const struct conf_layout *at);
/* True when there is a scheduler @p name; else an error about @p path is reported. */
bool zoo_scheduler_is_known(struct conf_parse *p, const char *path, const struct conf_node *name);
/* Check that schedules and patterns use the same tags, and free the memory of the groups. */
void zoo_groups_check(struct conf_parse *p, const struct zoo_groups *groups);
void zoo_groups_fini(struct zoo_groups *groups);
/* Free the memory of freeze, lora_params and selective_grad. */
void zoo_tuning_fini(struct zoo_model *model);
/* Free the memory of the entries. */
void zoo_sparsities_fini(struct zoo_sparsities *list);
void zoo_read_factors(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *field);
void zoo_read_size(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *field);
void zoo_write_size(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_factors(struct wsc_text *out, const void *field, const struct conf_layout *at);
void zoo_write_loss_scale(struct wsc_text *out, const void *field, const struct conf_layout *at);
#endif

/** What the files that draw random cases share. */
#ifndef WSC_TEST_RANDOM_DRAW_H
#define WSC_TEST_RANDOM_DRAW_H
#include "random_fabric.h"

#include <stddef.h>

/* A number below @p below, an event of @p percent: the next ones of the case's own stream. */
int draw(struct random_case *c, int below);
bool chance(struct random_case *c, int percent);

/* Append; what is returned is valid until the next one. */
struct step *add_step(struct random_case *c, enum step_kind kind, struct mesh_rect rect);
struct action *add_action(struct random_case *c, enum action_kind kind);
struct mesh_rect rect_of(const struct random_case *c, int pe);

/* Local tasks and the control task on all PEs; SLOT_GO is started. */
void add_tasks(struct random_case *c);
bool case_may_switch(const struct random_case *c, int colour);

/* One thing that is wrong, in a case that was legal. */
void add_mishap(struct random_case *c);
/* Routes, filters and programs without a plan. */
void draw_wild(struct random_case *c);
#endif

/** Snapshots in memory: the archive of <wsc/mesh_snapshot.h> for tests.  Each process of a group
 * has a shelf of its own with the words that it wrote; shelf_merge() puts them together. */
#ifndef WSC_TEST_SHELF_H
#define WSC_TEST_SHELF_H
#include <wsc/mesh_snapshot.h>

enum { SHELF_ARRAYS = 5 };
struct shelf_shot {
    int64_t cycles;
    struct mesh_array array[SHELF_ARRAYS];
    int64_t *word[SHELF_ARRAYS]; /* owned */
};
struct shelf {
    struct shelf_shot *shot; /* owned */
    int n, capacity;
    const struct shelf_shot *from; /* borrowed: what is read */
};
struct mesh_archive shelf_archive(struct shelf *s);
/* Words of @p from are added to those of @p to, snapshot by snapshot. */
void shelf_merge(struct shelf *to, const struct shelf *from);
void shelf_free(struct shelf *s);
#endif

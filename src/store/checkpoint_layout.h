/** Names of the attributes of a checkpoint: those of this program, and those by which cstorch
 *  recognizes a state dict. */
#ifndef WSC_STORE_CHECKPOINT_LAYOUT_H
#define WSC_STORE_CHECKPOINT_LAYOUT_H

/** Layout version of our checkpoints, attribute `__wsc_version__`: 2 since the groups of parameters
 *  have the Model Zoo's order; files of 1 are read too. */
#define STORE_VERSION   2
#define STORE_ATTR_OURS "__wsc_version__"
#define STORE_ATTR_MARK "__SUCCESS__"
#define STORE_ATTR_SUM  "__sum__"
#define STORE_ATTR_ALL  "__digest__"
/** Attributes of cstorch at the root: version of the layout, release of cstorch; and the suffix of
 *  a key's attribute that describes its value. */
#define STORE_ATTR_LAYOUT     "__version__"
#define STORE_ATTR_CSTORCH    "__cstorch_version__"
#define STORE_META_SUFFIX     ".__metadata__"
#define STORE_LAYOUT          0.5 /* of releases 2.4 to 2.10 */
#define STORE_CSTORCH_RELEASE "2.10.0"
#endif

/** Names of the attributes of a checkpoint: those of this program, and those by which cstorch
 *  recognizes a state dict. */
#ifndef WSC_STORE_CHECKPOINT_LAYOUT_H
#define WSC_STORE_CHECKPOINT_LAYOUT_H

/** Layout version of our checkpoints, attribute `__wsc_version__`. */
#define STORE_VERSION   1
#define STORE_ATTR_OURS "__wsc_version__"
#define STORE_ATTR_MARK "__SUCCESS__"
#define STORE_ATTR_SUM  "__sum__"
#define STORE_ATTR_ALL  "__digest__"
/** What cstorch notes at the root: the layout's version, its own release, and after a key what
 *  the value of that key is. */
#define STORE_ATTR_LAYOUT     "__version__"
#define STORE_ATTR_CSTORCH    "__cstorch_version__"
#define STORE_META_SUFFIX     ".__metadata__"
#define STORE_LAYOUT          0.5 /* of releases 2.4 to 2.10 */
#define STORE_CSTORCH_RELEASE "2.10.0"
#endif

/** Control packs: reads and checks them, and adds them to a deployment document without changing any other line. Pure. */

export { type AddedObject, type Adding, addPacks } from "./add-packs.ts";
export { type BaseOf, checkPack } from "./check-pack.ts";
export { LISTS, namedIn } from "./pack-objects.ts";
export { PACK_FILES, type Pack, type PackFiles, readPack, readPackText } from "./read-pack.ts";

/** Control packs: read, checked, and put into a deployment document of which no other line changes. Pure. */

export { type AddedObject, type Adding, addPacks } from "./add-packs.ts";
export { type BaseOf, checkPack } from "./check-pack.ts";
export { MECHANISMS } from "./mechanisms.ts";
export { LISTS, type ListName, type Named, namedIn } from "./objects.ts";
export {
  PACK_FILES,
  type Pack,
  type PackFiles,
  type PackObject,
  type PackRead,
  readPack,
  readPackText,
} from "./read-pack.ts";

/** Decodes and encodes content encodings of bodies within limits, for the data plane and the inspector. */

export { codingOf } from "./codings.ts";
export { decode } from "./decode.ts";
export { layersIn, type Peeled, peel } from "./layers.ts";

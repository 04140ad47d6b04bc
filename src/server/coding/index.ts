/** Content encodings of bodies, with limits: of the data plane, and of what another proxy routes. */

export { codingOf } from "./codings.ts";
export { decode } from "./decode.ts";
export { layersIn, type Peeled, peel } from "./layers.ts";

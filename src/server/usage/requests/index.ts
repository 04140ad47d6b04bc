/** Keeps the last requests of this node for operators. */
export { createNewest, type Newest } from "./newest.ts";

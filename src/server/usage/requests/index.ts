/** The last requests of this node, for people who look. */
export { createNewest, type Newest } from "./newest.ts";

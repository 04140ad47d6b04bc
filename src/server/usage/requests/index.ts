/** The last requests of this node, for people who look. */
export { createRing, type Ring } from "./ring.ts";

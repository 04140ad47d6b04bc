export { type Bearing, bearing } from "./bearing.ts";
export type { KeyHeader } from "./key-header.ts";
export { CREDENTIAL_HEADERS, keyHeaders } from "./static.ts";

/** Violation of the protocol by a peer. Only the connection it came by is closed. */
export class WireError extends Error {
  override readonly name = "WireError";
}

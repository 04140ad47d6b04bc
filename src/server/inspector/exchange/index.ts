/** ext_proc as a pure state machine: what arrives, and what is answered. */

export { openExchange } from "./exchange.ts";
export { HeldBody } from "./held-body.ts";
export { bytesOf, PIECE_BYTES } from "./pieces.ts";
export type {
  Answer,
  Arrival,
  ExchangeTerms,
  HeadChanges,
  HeaderList,
  PeerExchange,
  PeerMode,
  PeerModes,
  ResponseNews,
  ResponseTerms,
  Room,
  Side,
  Step,
  StreamFault,
  Verdict,
  WholeRequest,
} from "./types.ts";

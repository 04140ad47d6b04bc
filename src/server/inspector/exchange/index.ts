/** ext_proc as a table of moves: what arrives, and what it is answered. Pure. */

export { openExchange } from "./exchange.ts";
export { PIECE_BYTES } from "./pieces.ts";
export type {
  Answer,
  Arrival,
  ExchangeTerms,
  HeaderList,
  PeerExchange,
  PeerMode,
  PeerModes,
  Room,
  Side,
  Step,
  StreamFault,
  Verdict,
  WholeRequest,
} from "./types.ts";

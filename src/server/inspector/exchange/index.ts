/** Implements ext_proc as a pure state machine, from messages to answers. */

export { bytesOf, PIECE_BYTES } from "./body-pieces.ts";
export { openExchange } from "./ext-proc-exchange.ts";
export { HeldBody } from "./held-body.ts";
export type {
  Answer,
  Arrival,
  BodyMemory,
  ExchangeOptions,
  HeadChanges,
  HeaderList,
  PeerExchange,
  PeerMode,
  PeerModes,
  ResponseInspectionOptions,
  ResponseNews,
  Side,
  Step,
  StreamFault,
  Verdict,
  WholeRequest,
} from "./types.ts";

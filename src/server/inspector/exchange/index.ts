/** Implements ext_proc as a pure state machine, from messages to answers. */

export { bytesOf } from "./body-pieces.ts";
export { openExchange } from "./ext-proc-exchange.ts";
export { HeldBody } from "./held-body.ts";
export type {
  Answer,
  Arrival,
  BodyMemory,
  ExchangeOptions,
  HeadChanges,
  HeaderList,
  PeerMode,
  ResponseInspectionOptions,
  ResponseNews,
  Side,
  Step,
  StreamFault,
  Verdict,
  WholeRequest,
} from "./types.ts";

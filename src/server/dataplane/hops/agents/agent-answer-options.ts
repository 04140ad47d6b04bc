/** Options of the stage that processes the answer of an MCP server or agent. */
import type { GatewayError } from "../../../../base/index.ts";
import type { JudgedAnswer } from "../../../core/guardrails/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { AgentCall } from "./agent-call.ts";

export interface AgentAnswerOptions {
  readonly exchange: Pick<Exchange, "answerMemory" | "abortWithError" | "upstream">;
  /** Receiver of the answer: the exchange, or a stage in front of it. */
  readonly to: Downstream;
  readonly call: AgentCall;
  /** Inspection of the answer; `undefined` if guardrails do not inspect it. */
  readonly judged: JudgedAnswer | undefined;
  /** Records guardrail decisions, once, before the end or a refusal. Returns the refusal. Throws `audit_unavailable`. */
  readonly settle: () => GatewayError | undefined;
  /** Returns whether the caller sees a tool in a list. It is `undefined` if all tools are shown or the call lists none. */
  readonly isToolShown: ((tool: string) => boolean) | undefined;
  /** Receives each answer to `tools/list` as the server sent it. */
  readonly onToolList: (message: string) => void;
  /** Called when the server announces that its tools have changed. */
  readonly onToolsChanged: () => void;
  /** Receives each message of the answer as the server sent it. */
  readonly onMessage: (message: string) => void;
  /** Calls `begin` once a client has waited long for the beginning of a stream. */
  readonly whenSilent: (begin: () => void) => void;
}

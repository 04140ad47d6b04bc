/** State of the forwarding stage that the answer to the client depends on. Each attempt at an upstream replaces it. */
import type { Loss } from "../core/dialects/index.ts";
import type { Bearing } from "../upstream/index.ts";

const NOTHING_LEFT_OUT: readonly Loss[] = [];

export class UpstreamSide {
  /** Name of the upstream in refusals. */
  noun = "The provider";
  /** Capabilities that the request uses but that are dropped when it is forwarded. */
  leftOut: readonly Loss[] = NOTHING_LEFT_OUT;
  /** Returns whether a header of the called channel's answer carries a credential, so that the client must not see it. */
  bearsCredential: Bearing | undefined;
  /** Called once with the reason if the current answer could not be read. The reason quotes nothing from the answer. */
  onUnreadable: ((reason: string) => void) | undefined;
}

/** Logs warnings about the filter settings of peers, once for each peer and fault, with the settings to use. */
import type { Log } from "../../base/index.ts";
import { type BodyModes, settingsLine } from "./filter-settings.ts";
import type { Counted, InspectorObserver } from "./options.ts";

/** Maximum number of peers that are logged. Further peers are only counted. */
const MAX_TOLD = 256;

const FAULTS: Partial<Record<Counted, string>> = {
  mode_mismatch: "a peer's filter sends bodies in a way that does not fit `extproc`; its requests are refused",
  body_not_sent:
    "a request's body was never sent: its client left, or the peer's filter does not send bodies, which pass uninspected then",
  response_not_sent:
    "a request's response was never sent: its client left, or the peer's filter does not send responses, which pass uninspected then",
  response_trailers:
    "a response ended in trailers, which its filter's mode leaves no way to inspect: what of it was not proven is cut off",
  observed: "a peer's filter waits for no answer: what it sends is not inspected",
};

export function warnOfPeers(modes: BodyModes, log: Pick<Log, "warn">): InspectorObserver["counted"] {
  const warned = new Set<string>();
  return (what, peer, detail) => {
    const words = FAULTS[what];
    const key = `${what} ${peer}`;
    if (words === undefined || warned.has(key) || warned.size >= MAX_TOLD) return;
    warned.add(key);
    log.warn(words, { peer, ...(detail !== "" && { because: detail }), set_in_its_filter: settingsLine(modes) });
  };
}

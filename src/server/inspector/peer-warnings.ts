/** Logs warnings about the filter settings of peers, once for each peer and fault, with the settings to use. */
import type { Log } from "../../base/index.ts";
import { type BodyModes, settingsLine } from "./filter-settings.ts";
import type { InspectorEvent, InspectorObserver } from "./options.ts";

/** Maximum number of peers that are logged. Further peers are only counted. */
const MAX_REPORTED = 256;

const FAULTS: Partial<Record<InspectorEvent, string>> = {
  mode_mismatch:
    "a proxy's filter sends bodies in another mode than `extproc` of the node file states; its requests are refused",
  body_not_sent:
    "the body of a request was never sent: the client disconnected, or the proxy's filter does not send bodies, which then pass without inspection",
  response_not_sent:
    "the response to a request was never sent: the client disconnected, or the proxy's filter does not send responses, which then pass without inspection",
  response_trailers:
    "a response ended in trailers, which cannot be inspected in this mode of the filter; the part that was not inspected was cut off",
  observed: "a proxy's filter does not wait for answers, so its traffic is not inspected",
};

export function warnOfPeers(modes: BodyModes, log: Pick<Log, "warn">): InspectorObserver["count"] {
  const warned = new Set<string>();
  return (what, peer, detail) => {
    const message = FAULTS[what];
    const key = `${what} ${peer}`;
    if (message === undefined || warned.has(key) || warned.size >= MAX_REPORTED) return;
    warned.add(key);
    log.warn(message, { peer, ...(detail !== "" && { because: detail }), set_in_its_filter: settingsLine(modes) });
  };
}

/**
 * Notes of `gateway check` about the inspector and the settings that its peers need. Sends nothing, since peers call
 * the inspector.
 */
import { parseAddress } from "../../base/index.ts";
import { settingsLine } from "../../server/inspector/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import type { Answer } from "./probe.ts";

/** Returns whether there is nothing to route, so that no data listener is opened. */
export function onlyInspects({ nodeFile, compiled }: LoadedNode): boolean {
  const { providers, fronted } = compiled.snapshot;
  return nodeFile.extproc?.inspect_listen !== undefined && providers.length + fronted.all.length === 0;
}

export function inspectorAnswers(node: LoadedNode): readonly Answer[] {
  const { nodeFile, compiled } = node;
  const { extproc, cluster } = nodeFile;
  const { inspect_listen: listen } = extproc ?? {};
  if (extproc === undefined || listen === undefined) return [];
  const note = (message: string): Answer => ({ verdict: "note", subject: "node", message });
  const peers = (message: string): Answer => ({ verdict: "note", subject: "extproc", message });
  const { guardrails } = compiled.snapshot;
  return [
    ...(onlyInspects(node)
      ? [note("only inspects and opens no data listener, since the deployment has no providers, servers or agents")]
      : []),
    ...(cluster.data_dir === undefined
      ? [note("keeps its state only in memory, since `cluster.data_dir` is not set")]
      : []),
    note(`serves the inspector on ${listen} unencrypted, to every client that can reach it`),
    ...(isEveryInterface(listen)
      ? [note(`${listen} is open on every interface: allow only the private network of the proxies to reach it`)]
      : []),
    peers(`set on the filter of each proxy: ${settingsLine(extproc)}`),
    peers(
      "set failure_mode_allow: false on the filter of each proxy; otherwise traffic passes without inspection when the inspector fails",
    ),
    ...(extproc.request_body_mode === "streamed" || extproc.inspect_responses === "streamed"
      ? [peers(timeText(node))]
      : []),
    ...(extproc.request_body_mode === "streamed"
      ? [peers("requests with trailers are refused with 501; set `request_body_mode: duplex` to inspect them")]
      : []),
    ...(extproc.inspect_responses === "streamed"
      ? [peers("a denied response is cut off after its status was sent, since its body is streamed")]
      : []),
    ...(guardrails.of(undefined) === undefined && guardrails.inForce.detectors.length > 0
      ? [
          peers(
            "nothing is inspected, since callers of a proxy have no profile and no detector applies to callers without one",
          ),
        ]
      : []),
  ];
}

/** Describes the `message_timeout` that a streamed filter needs, by the detectors that call servers or run models. */
function timeText({ compiled }: LoadedNode): string {
  const slow = compiled.snapshot.guardrails.inForce.detectors.filter(({ type }) => type !== "pii");
  const names = slow.map(({ name }) => name).join(", ");
  return slow.length === 0
    ? "the filter waits for each answer up to its message_timeout, which is 200ms by default"
    : `set message_timeout of the filter (200ms by default) above the time that ${names} may take`;
}

const isEveryInterface = (listen: string): boolean => [undefined, "0.0.0.0", "::"].includes(parseAddress(listen)?.host);

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
  const note = (words: string): Answer => ({ verdict: "note", subject: "node", words });
  const peers = (words: string): Answer => ({ verdict: "note", subject: "extproc", words });
  const { guardrails } = compiled.snapshot;
  return [
    ...(onlyInspects(node) ? [note("only inspects, and opens no data listener: nothing is routed")] : []),
    ...(cluster.data_dir === undefined ? [note("keeps its state in memory: no `cluster.data_dir`")] : []),
    note(`serves the inspector on ${listen} in plaintext, to every client that reaches it`),
    ...(isEveryInterface(listen)
      ? [note(`${listen} is every interface: let the private network of the peers alone reach it`)]
      : []),
    peers(`the filter of a peer must have ${settingsLine(extproc)}`),
    peers("the filter of a peer must have failure_mode_allow: false, or failures here let traffic pass uninspected"),
    ...(extproc.request_body_mode === "streamed" || extproc.inspect_responses === "streamed"
      ? [peers(timeWords(node))]
      : []),
    ...(extproc.request_body_mode === "streamed"
      ? [peers("a request whose body ends in trailers is refused with 501: `request_body_mode: duplex` inspects them")]
      : []),
    ...(extproc.inspect_responses === "streamed"
      ? [peers("a denied response ends after its status was sent, since its body is streamed")]
      : []),
    ...(guardrails.of(undefined) === undefined && guardrails.inForce.detectors.length > 0
      ? [
          peers(
            "no detector applies to callers without a profile, and callers of a proxy have none: nothing is inspected",
          ),
        ]
      : []),
  ];
}

/** Describes the `message_timeout` that a streamed filter needs, by the detectors that call servers or run models. */
function timeWords({ compiled }: LoadedNode): string {
  const slow = compiled.snapshot.guardrails.inForce.detectors.filter(({ type }) => type !== "pii");
  const names = slow.map(({ name }) => name).join(", ");
  return slow.length === 0
    ? "a streamed filter waits message_timeout, 200ms unless it is set, for each answer"
    : `the filter's message_timeout, 200ms unless it is set, must be more than what ${names} may take`;
}

const isEveryInterface = (listen: string): boolean => [undefined, "0.0.0.0", "::"].includes(parseAddress(listen)?.host);

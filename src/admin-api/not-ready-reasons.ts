/** Words for the reasons why a node cannot serve, which a node reports as codes or as sentences. */

import type { NodeStatus } from "./operations/node.ts";

type Reported = Pick<NodeStatus, "reasons" | "configuration" | "models">;

const TEXTS: Readonly<Record<string, string | ((status: Reported) => string)>> = {
  cluster: "its cluster has no leader yet",
  configuration: configurationText,
  workers: "no worker process serves yet",
  "certificate pending": "it has no certificate for its listener yet",
  starting: "it is starting",
  stopping: "it is stopping",
};

/**
 * Returns why a node is not ready, as phrases. `starting` is left out if there is another reason, because it then says nothing
 * more. A reason without a text here is a sentence already, or comes from a newer node.
 */
export function notReadyReasons(status: Reported): readonly string[] {
  const { reasons } = status;
  const named = reasons.length > 1 ? reasons.filter((it) => it !== "starting") : reasons;
  return named.map((reason) => {
    const text = Object.hasOwn(TEXTS, reason) ? TEXTS[reason] : undefined;
    return (typeof text === "function" ? text(status) : text) ?? reason;
  });
}

/** Returns whether a node waits for its first deployment document: it has none, and is not occupied with one. */
export function lacksDocument(status: Reported): boolean {
  const { reasons, configuration, models = [] } = status;
  return (
    reasons.includes("configuration") &&
    configuration.state !== "refused" &&
    models.every(({ state }) => state === "ready")
  );
}

function configurationText(status: Reported): string {
  if (lacksDocument(status)) return "no deployment document is in force";
  const { configuration } = status;
  return configuration.state === "refused"
    ? "its deployment document was refused"
    : "the models that its deployment document needs are not ready";
}

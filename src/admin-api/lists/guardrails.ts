/** List of the guardrail detectors and rules. */

import { choice, integer, list, nullable, number, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const guardrails = defineList({
  help: "Lists the detectors and rules of guardrails in force.",
  query: MEASURED_QUERY,
  row: object("A detector or a rule of guardrails, in the order of the document; detectors come first.", {
    kind: choice("What it is.", ["detector", "rule"]),
    name: text("Unique name among its kind."),
    type: text("Type of a detector, action of a rule."),
    mode: nullable(choice("Of a detector; `shadow`: rules do not see what it finds.", ["inline", "shadow"])),
    schedule: nullable(choice("Of a detector: who waits for it.", ["sync", "overlap", "async"])),
    role: nullable(choice("Of a detector; `confirm`: it looks where others found something.", ["discover", "confirm"])),
    kinds: nullable(
      list("Kinds of text that it reads, or may rewrite; null: all that can be rewritten.", text("Kind of text.")),
    ),
    threshold: nullable(number("Of a detector: what scores less is dropped.")),
    timeout_ms: nullable(
      integer("Of a detector: longest work on one request, in milliseconds; null: as long as the request has."),
    ),
    on_error: choice("What happens when it cannot do its work.", ["fail_open", "fail_closed"]),
    entities: nullable(list("Entity types that a detector reports; null: all that it knows.", text("Entity type."))),
    recognizers: list(
      "Recognizers of the document's own, as `<name>: <entity type>`; what they look for is not shown.",
      text("Recognizer."),
    ),
    requires: nullable(list("Detectors that a rule depends on; null: all.", text("Name of a detector."))),
    operator: nullable(text("How a rule rewrites; null: it does not.")),
    controls: list("Identifiers of a rule's controls.", text("Identifier.")),
    exempt: list("Profiles whose texts it does not see.", text("Name of a profile.")),
    fingerprint: nullable(
      text("Of a detector: the same on every node on which the same is found; the first 12 digits of it."),
    ),
    horizon_bytes: nullable(
      integer("Of a detector that reads answers: bytes that a finding in a stream spans at most; null: no bound."),
    ),
    decisions: nullable(integer("Of a rule: requests in which it acted, since the process of this node started.")),
    errors: integer("Times that it could not do its work, since then."),
    texts_read: nullable(integer("Of a detector: texts that it read, since then.")),
    texts_remembered: nullable(integer("Of a detector: texts whose findings were remembered, since then.")),
    node: text("Node that counted."),
  }),
  identity: ["kind", "name", "node"],
  get: {
    about: "traffic",
    aliases: ["detectors", "rules"],
    name: ["name"],
    columns: ["kind", "name", "type", "mode", "on_error", "decisions", "errors", "node"],
  },
});

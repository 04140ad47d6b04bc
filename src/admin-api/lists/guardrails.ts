/** List of the guardrail detectors and rules. */

import { choice, integer, list, nullable, number, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const guardrails = defineList({
  help: "Lists the guardrail detectors and rules in force.",
  query: MEASURED_QUERY,
  row: object("A guardrail detector or rule. Rows are in the order of the document, detectors first.", {
    kind: choice("Whether the row is a detector or a rule.", ["detector", "rule"]),
    name: text("Name, unique among detectors or among rules."),
    type: text("Type of the detector, or action of the rule."),
    mode: nullable(choice("Mode of the detector. With `shadow`, rules do not see its findings.", ["inline", "shadow"])),
    schedule: nullable(
      choice("What waits for the detector. `sync`: the request. `overlap`: the response. `async`: nothing.", [
        "sync",
        "overlap",
        "async",
      ]),
    ),
    role: nullable(
      choice("Role of the detector. With `confirm` it reads only where other detectors found something.", [
        "discover",
        "confirm",
      ]),
    ),
    kinds: nullable(
      list(
        "Kinds of text that the detector reads or the rule may rewrite. Null for all kinds that can be rewritten.",
        text("Kind of text."),
      ),
    ),
    threshold: nullable(number("Findings of the detector with a lower score are dropped.")),
    timeout_ms: nullable(
      integer(
        "Time limit of the detector for one request, in milliseconds. Null if only the request's own limit applies.",
      ),
    ),
    on_error: choice("What happens to the request if the detector or rule fails.", ["fail_open", "fail_closed"]),
    entities: nullable(
      list("Entity types that the detector reports. Null for all that it knows.", text("Entity type.")),
    ),
    recognizers: list(
      "Custom recognizers of the document, as `<name>: <entity type>`. Their patterns are not shown.",
      text("Recognizer."),
    ),
    requires: nullable(list("Detectors that the rule depends on. Null for all.", text("Name of a detector."))),
    operator: nullable(text("Operator with which the rule rewrites text. Null if it does not rewrite.")),
    controls: list("Controls that the rule cites.", text("Identifier.")),
    exempt: list("Profiles whose texts the detector or rule does not read.", text("Name of a profile.")),
    fingerprint: nullable(
      text("First 12 digits of the detector's fingerprint. Nodes with the same fingerprint find the same things."),
    ),
    horizon_bytes: nullable(
      integer("Maximum bytes that a finding of the detector can span in a stream. Null if there is no bound."),
    ),
    decisions: nullable(integer("Requests on which the rule acted since the process of this node started.")),
    errors: integer("Failures of the detector or rule since the process of this node started."),
    texts_read: nullable(integer("Texts that the detector read since the process of this node started.")),
    texts_remembered: nullable(
      integer("Texts whose findings came from the detector's cache since the process of this node started."),
    ),
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

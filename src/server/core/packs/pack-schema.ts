/** Schema of a pack's `pack.yaml` and `fragment.yaml`. Source: guardrails reference, 8.1 and 8.4. */

import {
  choice,
  type Deployment,
  deploymentSchema,
  type Guardrails,
  list,
  object,
  required,
  type Schema,
  schemaBelow,
  type TypeOf,
  text,
} from "../config/index.ts";
import { MECHANISMS } from "./mechanisms.ts";

const MAX_CONTROLS = 1_000;

const describedText = (description: string): Schema<string> =>
  text(description, { minLength: 1, maxLength: 1_024, pattern: "^[^\\u0000-\\u001f\\u007f]*$" });

const packId = (description: string): Schema<string> =>
  text(description, { pattern: "^[a-z0-9]+(-[a-z0-9.]+)*$", maxLength: 64, examples: ["baseline-pii"] });

const controlId = text("Identifier of a control: the framework with its edition, a colon, and the control's number.", {
  pattern: "^[^\\s:]+:\\S+$",
  maxLength: 256,
  examples: ["pci-dss-4.0.1:3.4.1"],
});

const control = object("A control that the pack cites.", {
  id: required(controlId),
  title: required(describedText("What the control is about, in a few words.")),
  citation: required(describedText("Source of the control: publication, edition and place.")),
});

const attachment = object("Controls that are attached to a rule of another pack.", {
  pack: required(packId("Pack that contains the rule. It must be one of `builds_on`.")),
  rule: required(describedText("Name of the rule.")),
  controls: required(list("Controls to attach.", controlId, { minItems: 1, uniqueItems: true })),
});

const mapping = object("A control that is implemented by something other than a rule.", {
  control: required(controlId),
  mechanism: required(choice("Mechanism that implements the control.", MECHANISMS)),
  note: required(describedText("What must be configured, and what is not covered.")),
});

export const packSchema = object("A pack of controls.", {
  id: required(packId("Id of the pack.")),
  version: required(text("Version of the pack.", { pattern: "^\\d+\\.\\d+\\.\\d+$", examples: ["1.0.0"] })),
  title: required(describedText("Purpose of the pack, in one line.")),
  builds_on: list("Packs that the document must already contain.", packId("Id of a pack."), {
    maxItems: 32,
    uniqueItems: true,
  }),
  controls: required(list("Controls that the pack cites.", control, { maxItems: MAX_CONTROLS })),
  attaches: list("Controls that the pack attaches to rules of the packs it builds on.", attachment, {
    maxItems: MAX_CONTROLS,
  }),
  mechanisms: list("Controls that are implemented by something other than a rule.", mapping, {
    maxItems: MAX_CONTROLS,
  }),
});

export type PackText = TypeOf<typeof packSchema>;

const guardrails = schemaBelow(deploymentSchema.json, "guardrails");
const detectors: Schema<Guardrails["detectors"]> = { json: schemaBelow(guardrails, "detectors") };
const rules: Schema<Guardrails["rules"]> = { json: schemaBelow(guardrails, "rules") };
const accessRules: Schema<NonNullable<Deployment["access_rules"]>> = {
  json: schemaBelow(deploymentSchema.json, "access_rules"),
};

/** Parts of a deployment document that a pack may contain. */
export const fragmentSchema = object("Entries that the pack adds to a deployment document.", {
  guardrails: object("Detectors, and the rules that decide about their findings.", { detectors, rules }),
  access_rules: accessRules,
});

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

const words = (description: string): Schema<string> =>
  text(description, { minLength: 1, maxLength: 1_024, pattern: "^[^\\u0000-\\u001f\\u007f]*$" });

const packId = (description: string): Schema<string> =>
  text(description, { pattern: "^[a-z0-9]+(-[a-z0-9.]+)*$", maxLength: 64, examples: ["baseline-pii"] });

const controlId = text("Identifier of a control: its framework with the edition, then its own.", {
  pattern: "^[^\\s:]+:\\S+$",
  maxLength: 256,
  examples: ["pci-dss-4.0.1:3.4.1"],
});

const control = object("A control that the pack cites.", {
  id: required(controlId),
  title: required(words("What the control is about, in a few words.")),
  citation: required(words("Where it stands: publication, edition, place.")),
});

const attachment = object("Controls that a rule of another pack carries too.", {
  pack: required(packId("The pack that brings the rule; one of `builds_on`.")),
  rule: required(words("Its name.")),
  controls: required(list("The controls.", controlId, { minItems: 1, uniqueItems: true })),
});

const mapping = object("A control that something else than a rule carries out.", {
  control: required(controlId),
  mechanism: required(choice("What carries it out.", MECHANISMS)),
  note: required(words("What has to be configured, and what is not covered.")),
});

export const packSchema = object("A pack of controls.", {
  id: required(packId("Its identifier.")),
  version: required(text("Its version.", { pattern: "^\\d+\\.\\d+\\.\\d+$", examples: ["1.0.0"] })),
  title: required(words("What it is for, in one line.")),
  builds_on: list("Packs that must be there first.", packId("A pack."), { maxItems: 32, uniqueItems: true }),
  controls: required(list("The controls that it cites.", control, { maxItems: MAX_CONTROLS })),
  attaches: list("What it adds to rules of packs that it builds on.", attachment, { maxItems: MAX_CONTROLS }),
  mechanisms: list("What else carries its controls out.", mapping, { maxItems: MAX_CONTROLS }),
});

export type PackText = TypeOf<typeof packSchema>;

const guardrails = schemaBelow(deploymentSchema.json, "guardrails");
const detectors: Schema<Guardrails["detectors"]> = { json: schemaBelow(guardrails, "detectors") };
const rules: Schema<Guardrails["rules"]> = { json: schemaBelow(guardrails, "rules") };
const accessRules: Schema<NonNullable<Deployment["access_rules"]>> = {
  json: schemaBelow(deploymentSchema.json, "access_rules"),
};

/** Parts of a deployment document that a pack may contain. */
export const fragmentSchema = object("What the pack puts into a deployment document.", {
  guardrails: object("Detectors and rules over what they find.", { detectors, rules }),
  access_rules: accessRules,
});

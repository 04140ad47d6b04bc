/**
 * Writes the error message for a request that would lose something: the fields, the model, and what to do about it. Source:
 * design decisions, section 6 ("Refusals of fidelity"). It quotes only places (`use-list.ts`) and the model's name from the
 * request.
 */
import type { Form } from "../routes/routes.ts";
import { type Capability, ruleOf } from "./capabilities.ts";
import type { Loss } from "./losses.ts";
import { placesOf } from "./uses/uses.ts";

interface LossRefusal {
  readonly message: string;
  /** Field that causes the refusal, or the capability if there is none. */
  readonly param: string;
}

interface LosingRequest {
  readonly form: Form;
  /** Form in which the channel would get the request. */
  readonly to: Form;
  /** Parsed request. */
  readonly request: unknown;
  /** Name of the model that the client requested. */
  readonly model: string;
  readonly provider: string;
  /** Capabilities that the caller's profile requires. */
  readonly required: readonly string[];
}

/** Maximum number of losses in a message; a longer list does not help the reader. */
const MAX_LOSSES = 6;
const MAX_FIELDS = 3;
const MAX_MODEL_LENGTH = 128;

/** Advice for losses caused by defaults of client libraries. */
const ADVICE: Readonly<Partial<Record<Capability, string>>> = {
  stored_responses:
    " Items are not stored for this model: send the whole conversation as input; with the AI SDK set " +
    "`providerOptions.openai.store` to false, or use `openai.chat(model)`.",
};

/** Fields that every request needs. The advice never suggests removing them. */
const ESSENTIAL: ReadonlySet<string> = new Set(["model", "messages", "input", "system", "instructions"]);

const UNSHOWN = /[^\x20-\x7e]+/g;

/** Returns a model name from a client in a form that is safe to show in a message. */
export function shownModelName(model: string): string {
  const clean = model.slice(0, MAX_MODEL_LENGTH + 1).replaceAll(UNSHOWN, "?");
  return clean.length > MAX_MODEL_LENGTH ? `${clean.slice(0, MAX_MODEL_LENGTH)}...` : clean;
}

/** Returns the refusal for hard losses; `losses` has at least one. */
export function lossRefusal(losses: readonly Loss[], losingRequest: LosingRequest): LossRefusal {
  const causes = losses.slice(0, MAX_LOSSES).map((loss) => ({ loss, fields: fieldsOf(loss, losingRequest) }));
  const [first] = causes;
  if (first === undefined) throw new Error("nothing is lost");
  const isSingle = causes.length === 1 && first.fields.length === 1;
  const { capability } = first.loss;
  const isRequired = losses.some((loss) => losingRequest.required.includes(loss.capability));
  const remedy = isRequired
    ? "ask for another model, since the caller's profile requires this"
    : `ask for another model, or set \`on_fidelity_loss: allow\` for provider ${losingRequest.provider}`;
  const message =
    `${joined(causes.map(({ loss, fields }) => describedLoss(loss, fields)))} ${isSingle ? "is" : "are"} not supported by ` +
    `${shownModelName(losingRequest.model)}: leave ${isSingle ? "it" : "them"} out, ${remedy}.`;
  const advice = causes.map(({ loss }) => ADVICE[loss.capability] ?? "").join("");
  const fields = causes.flatMap((cause) => cause.fields);
  const strippable = isRequired ? "" : strippingAdvice(fields);
  return { message: message + strippable + advice, param: isSingle ? (first.fields[0] ?? capability) : capability };
}

/** Returns advice to remove fields, if whole fields of the request are the cause. */
function strippingAdvice(fields: readonly string[]): string {
  const whole = [...new Set(fields)].filter((field) => /^[A-Za-z0-9_]+$/.test(field) && !ESSENTIAL.has(field));
  if (whole.length === 0 || whole.length < fields.length) return "";
  return ` An overlay's \`remove_request_fields\` takes ${whole.length === 1 ? "it" : "them"} out of every request.`;
}

function fieldsOf({ capability, place }: Loss, { form, to, request }: LosingRequest): readonly string[] {
  const { used, lost } = placesOf(form, request, capability, to);
  const places = place === undefined ? used : lost;
  return places.size > 0 ? [...places] : [place ?? capability];
}

/** Describes one loss by its fields, followed by the capability where its name differs from the field's. */
function describedLoss({ capability, place }: Loss, fields: readonly string[]): string {
  const shown = fields.slice(0, MAX_FIELDS).map((field) => `\`${field}\``);
  const more = fields.length - shown.length;
  const list = joined(more > 0 ? [...shown, `${more} more`] : shown);
  const isForm = place !== undefined && ruleOf(capability).kind !== "remainder";
  const form = isForm ? (fields.length === 1 ? " as it stands" : " as they stand") : "";
  const isNamed = fields.length === 1 && fields[0] === capability;
  return `${list}${form}${isNamed ? "" : ` (${capability})`}`;
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** A gateway that inspects answers, with a provider that a test scripts. */
import { recordsIn, type SeenRecord } from "../../admin/support/trail.ts";
import {
  type Answer,
  chat,
  type Governed,
  mint,
  PROVIDER_KEY,
  say,
  startGoverned,
} from "../../governance/support/governed.ts";
import { type Document, startWithFiles } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import { type Reply, reply, type Script, scriptedUpstream, type Upstream } from "../../support/upstream.ts";
import { eventually, type Owner } from "../../support/wait.ts";

export const MAIL = "ada.lovelace@example.com";
export const SSN = "536-90-4399";
export const CARD = "4111 1111 1111 1111";
export const ADDRESS = "203.0.113.77";
const IBAN = "DE89 3704 0044 0532 0130 00";
const CANARIES = [MAIL, IBAN, IBAN.replaceAll(" ", ""), SSN, CARD, ADDRESS];
export const MAX_BODY_BYTES = 20_000;
export const JSON_TYPE = ["Content-Type: application/json"];

const guardrails = {
  detectors: [
    {
      type: "pii",
      name: "finder",
      prefilter: "pure",
      apply_to: ["output"],
      entities: ["EMAIL_ADDRESS", "IBAN_CODE", "US_SSN", "CREDIT_CARD"],
    },
    { type: "pii", name: "watcher", prefilter: "pure", apply_to: ["output"], entities: ["IP_ADDRESS"], mode: "shadow" },
  ],
  rules: [
    {
      name: "no-ssn",
      when: 'direction == "response" && "pii/US_SSN" in labels',
      action: "deny",
      message: "Numbers of persons stay here.",
      controls: ["SC-7"],
    },
    { name: "note", when: '"pii/CREDIT_CARD" in labels', action: "annotate" },
    { name: "hide", action: "redact", select: 'a.label != "CREDIT_CARD"', controls: ["GDPR-5"] },
  ],
  response: { max_body_bytes: MAX_BODY_BYTES },
};

/** The same guardrails with buffered streams and a refusal of long texts. */
const HOLDING = {
  ...guardrails,
  stream: { policy: "buffer" },
  response: { max_body_bytes: 2_000, on_oversize: "deny" },
};

interface Inspected extends Pick<Governed, "node" | "gateway"> {
  readonly upstream: Upstream;
  readonly key: string;
  /** Another gateway with `stream.policy: buffer` and without authentication. */
  readonly buffering: Gateway;
  /** Requests a chat completion with the scripted answer. */
  readonly answered: (script: Script, more?: Document, on?: Gateway) => Promise<Answer>;
  readonly whole: (answer: Reply, more?: Document, on?: Gateway) => Promise<Answer>;
  readonly recordOf: (event: string, result: Pick<Answer, "headers">) => Promise<SeenRecord>;
}

export const requestWith = (more: Document = {}): Document => chat({ model: "m", ...more });

/** Model `m` belongs to a compat provider, `other` to a messages provider. */
export async function startInspected(owner: Owner): Promise<Inspected> {
  const upstream = await scriptedUpstream(owner);
  const raw = { name: "raw", dialect: "compat", base_url: `${upstream.url}/v1`, api_key: PROVIDER_KEY };
  const providers = [raw, { ...raw, name: "msgs", dialect: "messages", model_aliases: { other: "m" } }];
  const deployment = { providers, default_provider: "raw" };
  const [{ node, gateway }, buffering] = await Promise.all([
    startGoverned(owner, {
      deployment: {
        ...deployment,
        budgets: [{ name: "day", limit: 1_000_000, shared: true }],
        profiles: [{ name: "team", budget: "day" }],
        guardrails,
      },
    }),
    startWithFiles(owner, { ...deployment, guardrails: HOLDING }),
  ]);
  const key = await mint(node, "plain", { profile: "team" });
  const answered: Inspected["answered"] = (script, more = {}, on = gateway) => {
    upstream.script = script;
    return say(on, { key, body: requestWith(more) });
  };
  return {
    upstream,
    node,
    gateway,
    buffering,
    key,
    answered,
    whole: (answer, more, on) => answered((socket) => reply(socket, answer), more, on),
    recordOf: (event, { headers }) => {
      const request = headers.get("x-gateway-request-id");
      return eventually(`the record ${event}`, () =>
        recordsIn(node.output()).find((record) => record.event === event && record.data["request"] === request),
      );
    },
  };
}

/** Returns matched text found in the operator-visible output of both gateways. */
export async function leaked({ node, gateway }: Inspected): Promise<readonly string[]> {
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  return CANARIES.filter((canary) => all.includes(canary));
}

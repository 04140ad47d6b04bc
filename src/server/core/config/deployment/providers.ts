/**
 * `providers[]`: upstream endpoints, and what happens when one fails. Spec: document 3, `providers[]`.
 * A request is repeated or moved only before any byte reached the client; repetitions run out before failover.
 */

import {
  assumed,
  choice,
  duration,
  flag,
  integer,
  list,
  map,
  mayBeSecret,
  object,
  orEmpty,
  positiveDuration,
  required,
  secret,
  type TypeOf,
  text,
  withDefault,
} from "../schema.ts";
import { DEFAULT_TRIGGERS, dialect, fidelityPolicy, filled, modelPatterns, pathName, triggers } from "./terms.ts";

const retry = object("Tries the same provider again after a wait.", {
  attempts: required(
    integer("Repetitions after the first try, so `1` sends a request at most twice.", { minimum: 1, maximum: 5 }),
  ),
  when: withDefault(triggers("Failures after which the request is repeated."), DEFAULT_TRIGGERS),
  backoff: withDefault(duration("First wait; each further wait is twice as long, with jitter."), "200ms"),
  max_backoff: withDefault(duration("Longest wait between two tries."), "2s"),
  retry_after_cap: withDefault(
    duration(
      "Longest wait that a 429 may ask for: up to this it is waited exactly, beyond it the request moves to failover.",
    ),
    "5s",
  ),
});

const failover = object("Other providers that are tried when this one fails.", {
  to: required(
    list("Providers to try, in this order; only this list is walked.", filled("Name of another provider."), {
      minItems: 1,
    }),
  ),
  when: withDefault(triggers("Failures after which the request moves to the next provider."), DEFAULT_TRIGGERS),
});

const picker = object("Scheduler that is asked, per request, which member of the pool serves it (ext_proc client).", {
  service: required(
    mayBeSecret(
      text("Address of the scheduler with scheme and port; `https://` encrypts.", {
        pattern: "^https?://[^\\s/@]+:[0-9]+/?$",
        examples: ["http://picker.models.svc:9002"],
      }),
    ),
  ),
  on_error: withDefault(
    choice("`fallback` serves without the scheduler when it is late or out of reach, `refuse` fails the request.", [
      "fallback",
      "refuse",
    ]),
    "fallback",
  ),
  timeout: withDefault(positiveDuration("How long one decision may take."), "100ms"),
  insecure_skip_verify: assumed(
    flag(
      "Encrypts without checking the scheduler's certificate; only with `https://`. A pick outside the pool's resolved addresses is still refused.",
    ),
    false,
  ),
});

const pool = object("Servers of one's own behind one name; the name's resolved addresses are the members.", {
  service: required(
    mayBeSecret(text("Root that the servers serve, normally a name that resolves to every server.", { format: "url" })),
  ),
  picker,
  subsets: list(
    "Named parts of the pool.",
    object("A named part of the pool.", {
      name: required(pathName("What `pool_subset` of a profile refers to; unique within the provider.")),
      service: required(mayBeSecret(filled("Name that resolves to the servers of the subset, on the pool's port."))),
    }),
  ),
});

const provider = object(
  "An upstream endpoint: either an entry of the catalog (`preset`) or an address with its `dialect`.",
  {
    name: pathName(
      "Identifies the provider in routing, rules, budgets, logs and metrics; left out, the name of the preset.",
    ),
    preset: filled("Entry of the catalog that supplies dialect, address and quirks; `dialect` is then left out.", {
      examples: ["openai", "anthropic", "azure-openai", "bedrock", "gemini", "mistral", "groq", "vllm", "ollama"],
    }),
    dialect: orEmpty(dialect("Dialect of a provider declared without a preset: decides what is forwarded as it is.")),
    base_url: mayBeSecret(
      text("Root for requests; with a preset it takes the place of the catalog's.", {
        format: "url",
        examples: ["https://models.example.com/v1"],
      }),
    ),
    pool,
    region: filled("Fills `{region}` in the preset's address."),
    on_fidelity_loss: fidelityPolicy(
      "What happens to a request that would lose a capability here; left out, the deployment's `on_fidelity_loss`.",
    ),
    metadata: map(
      "Free entries that rules read as `provider.metadata.<key>`; the gateway reads none of them.",
      text("A value, which rules compare as text."),
    ),
    api_key: secret(
      filled(
        "Key for this provider, normally an environment reference; this or `credential` is needed when `auth` is set.",
      ),
    ),
    credential: filled("Entry of `credentials` with the key for this provider."),
    models: modelPatterns("Models that are routed here: exact names, or prefixes that end in `*`."),
    model_aliases: map(
      "Model names that clients may ask for, each with the name that this provider is sent; listed in `GET /v1/models`.",
      filled("Model name that the provider is sent."),
    ),
    stream_usage: flag(
      "Asks a streamed response of the `compat` dialect to report usage, and takes the extra chunk out again; left out, it is on when `auth`, a budget or `reconcile` reads usage. Set false for servers that refuse unknown fields.",
    ),
    first_byte_timeout: duration(
      "Longest wait for the response headers of one attempt; goes with a `timeout` trigger here or in the failover of a provider that lists this one.",
    ),
    retry,
    failover,
    cost_per_session: assumed(integer("Budget units reserved for one WebSocket session.", { minimum: 0 }), 1),
  },
  {
    oneOf: [["preset", "dialect"]],
    exclusive: [
      ["base_url", "pool"],
      ["api_key", "credential"],
    ],
  },
);

export const providers = list("Upstream endpoints; the first whose `models` match a request serves it.", provider);

export type ProviderConfig = TypeOf<typeof provider>;
export type Retry = TypeOf<typeof retry>;
export type Failover = TypeOf<typeof failover>;

/** Returns the provider's identity: its name, else its preset. `undefined` for one that has neither, which is refused. */
export const providerName = (provider: ProviderConfig): string | undefined => provider.name ?? provider.preset;

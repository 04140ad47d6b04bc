/**
 * `providers[]`: upstream endpoints, and what happens when one fails. Spec: document 3, `providers[]`. A request is retried or
 * fails over only before any byte reached the client; failover begins when the retries are used up.
 */

import {
  assumed,
  choice,
  duration,
  example,
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
} from "../schema/schema.ts";
import {
  DEFAULT_TRIGGERS,
  dialect,
  fidelityPolicy,
  filled,
  filledAs,
  modelPatterns,
  pathName,
  triggers,
} from "./terms.ts";

const retry = object(
  "A failed request is sent to the same provider again after a wait. Without this section it is not.",
  {
    attempts: required(
      example(
        integer("A request is repeated at most this many times, so `1` sends it at most twice.", {
          minimum: 1,
          maximum: 5,
        }),
        2,
      ),
    ),
    when: withDefault(triggers("A request is repeated after these failures."), DEFAULT_TRIGGERS),
    backoff: withDefault(
      example(duration("The first wait. Each further wait is twice as long, with jitter."), "200ms", "1s"),
      "200ms",
    ),
    max_backoff: withDefault(example(duration("No wait between two attempts is longer than this."), "2s", "10s"), "2s"),
    retry_after_cap: withDefault(
      example(
        duration(
          "If a 429 asks for a wait up to this long, the gateway waits exactly so long. If it asks for more, the request moves on to failover.",
        ),
        "5s",
      ),
      "5s",
    ),
  },
  { examples: [{ attempts: 2 }] },
);

const failover = object(
  "Other providers are tried if this one fails, after its own retries.",
  {
    to: required(
      list(
        "These providers are tried in this order, and no others. They need not list the model.",
        filledAs("The name of another provider.", "azure"),
        {
          minItems: 1,
        },
      ),
    ),
    when: withDefault(triggers("A request moves to the next provider after these failures."), DEFAULT_TRIGGERS),
  },
  { examples: [{ to: ["azure"], when: ["connect", "5xx", "429", "timeout"] }] },
);

const picker = object(
  "A scheduler chooses the member of the pool for each request. The gateway asks it over ext_proc.",
  {
    service: required(
      mayBeSecret(
        text("The address of the scheduler, with scheme and port. `https://` encrypts the connection.", {
          pattern: "^https?://[^\\s/@]+:[0-9]+/?$",
          examples: ["http://picker.models.svc:9002"],
        }),
      ),
    ),
    on_error: withDefault(
      choice(
        "If the scheduler is late or cannot be reached, `fallback` takes the members in turn, and `refuse` fails the request.",
        ["fallback", "refuse"],
      ),
      "fallback",
    ),
    timeout: withDefault(
      example(positiveDuration("One decision of the scheduler may take this long."), "100ms"),
      "100ms",
    ),
    insecure_skip_verify: assumed(
      flag(
        "If true, the scheduler's certificate is not verified. It needs `https://`. A pick outside the addresses of the pool is refused in any case.",
      ),
      false,
    ),
  },
  { examples: [{ service: "http://picker.models.svc:9002" }] },
);

const pool = object(
  "The provider is a group of servers of your own behind one name. The addresses that the name resolves to are the members.",
  {
    service: required(
      mayBeSecret(
        text("The root URL of the servers. Its name normally resolves to every server.", {
          format: "url",
          examples: ["http://vllm.models.svc:8000/v1"],
        }),
      ),
    ),
    picker,
    subsets: list(
      "These are named parts of the pool. A profile can be confined to one with `pool_subset`.",
      object(
        "One named part of the pool.",
        {
          name: required(
            pathName("The `pool_subset` key of a profile refers to this name. It is unique within the provider.", "eu"),
          ),
          service: required(
            mayBeSecret(
              filledAs(
                "This name resolves to the servers of the subset. The port is that of the pool.",
                "vllm-eu.models.svc",
              ),
            ),
          ),
        },
        { examples: [{ name: "eu", service: "vllm-eu.models.svc" }] },
      ),
    ),
  },
  { examples: [{ service: "http://vllm.models.svc:8000/v1" }] },
);

const provider = object(
  "One upstream endpoint: an entry of the catalog (`preset`), or an address with its `dialect`.",
  {
    name: pathName(
      "The name identifies the provider in routing, rules, budgets, logs and metrics. It defaults to the name of the preset.",
      "openai-eu",
    ),
    preset: filled(
      "The catalog entry of this name supplies dialect, address and quirks. `dialect` must then be absent.",
      {
        examples: ["openai", "anthropic", "azure-openai", "bedrock", "gemini", "mistral", "groq", "vllm", "ollama"],
      },
    ),
    dialect: orEmpty(
      dialect(
        "The dialect of a provider without a preset. Requests of this dialect are forwarded as they are, and requests of the other are translated.",
      ),
    ),
    base_url: mayBeSecret(
      text("The root URL for requests. With a preset it replaces the URL of the catalog.", {
        format: "url",
        examples: ["https://models.example.com/v1"],
      }),
    ),
    pool,
    region: filledAs("The region fills `{region}` in the preset's URL.", "eu-central-1"),
    on_fidelity_loss: fidelityPolicy(
      "A request may use a capability that this provider does not have. `reject` refuses it, and `allow` forwards it without the capability. The default is the deployment's `on_fidelity_loss`.",
    ),
    metadata: example(
      map(
        "Rules can read these entries as `provider.metadata.<key>`. They have no other effect.",
        text("The value of the entry, which rules compare as text.", { examples: ["eu"] }),
      ),
      { jurisdiction: "eu" },
    ),
    api_key: secret(
      filled(
        "The key for this provider. Write it as a reference. If `auth` is set, this key or `credential` is required.",
      ),
    ),
    credential: filledAs(
      "The name of an entry of `credentials` that authenticates requests to this provider.",
      "bedrock",
    ),
    models: modelPatterns("Requests for these models are routed here."),
    model_aliases: example(
      map(
        "Clients may ask for these names, each of which stands for the provider's model name beside it. `GET /v1/models` lists them.",
        filledAs("The name of the model at the provider.", "gpt-4o-mini"),
      ),
      { fast: "gpt-4o-mini" },
    ),
    stream_usage: flag(
      "If true, streamed requests in the `compat` dialect ask the provider to report usage, and the gateway removes the extra chunk that this adds. The default is true if `auth`, a budget or `reconcile` needs usage. Set it to false for servers that refuse unknown fields.",
    ),
    first_byte_timeout: example(
      duration(
        "One attempt may wait this long for response headers. The key is allowed only if a `timeout` trigger can fire: here, or in the failover of a provider that lists this one.",
      ),
      "20s",
    ),
    retry,
    failover,
    cost_per_session: assumed(
      example(integer("A WebSocket session reserves this many units of the caller's budget.", { minimum: 0 }), 1_000),
      1,
    ),
  },
  {
    oneOf: [["preset", "dialect"]],
    exclusive: [
      ["base_url", "pool"],
      ["api_key", "credential"],
    ],
    examples: [
      {
        preset: "openai",
        api_key: "${secret:OPENAI_API_KEY}",
        models: ["gpt-*"],
        first_byte_timeout: "20s",
        retry: { attempts: 2 },
        failover: { to: ["azure"], when: ["connect", "5xx", "429", "timeout"] },
      },
      { name: "local", dialect: "compat", pool: { service: "http://vllm.models.svc:8000/v1" } },
    ],
  },
);

export const providers = list(
  "Requests go to these upstreams. The first provider whose `models` match serves a request.",
  provider,
);

export type ProviderConfig = TypeOf<typeof provider>;
export type Retry = TypeOf<typeof retry>;
export type Failover = TypeOf<typeof failover>;

/** Returns the provider's name, or else its preset. Returns `undefined` for one that has neither, which is refused. */
export const providerName = (provider: ProviderConfig): string | undefined => provider.name ?? provider.preset;

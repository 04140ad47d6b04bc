/** Converts a provider of Bifrost and one of its keys to an endpoint. */

import { awsOf } from "./aws-credential.ts";
import { baseUrlOf } from "./base-urls.ts";
import type { Variables } from "./credential-references.ts";
import type { Endpoint, ReaderInput } from "./deployment-draft.ts";
import type { Section } from "./foreign-source.ts";
import { type KnownPreset, presetOf } from "./presets.ts";
import { retryOf, timeoutOf } from "./retries-and-timeouts.ts";

interface ProviderConnection {
  /** Returns the endpoint for a model; `undefined`, with a note, if the model cannot be reached. */
  readonly endpointFor: (model: string | undefined) => Endpoint | undefined;
  /** Model names to send to the provider, by requested name. */
  readonly deployments?: Section | undefined;
  /** The only model of the server, if there is just one. */
  readonly onlyModel?: string | undefined;
}

type Connect = (key: Section | undefined) => ProviderConnection;

/** Returns a function from a key to its endpoints; `undefined`, with a note, if the provider cannot be imported. */
export function bifrostEndpoint(name: string, section: Section, reading: ReaderInput): Connect | undefined {
  const { variables, presets } = reading;
  const network = section.section("network_config");
  const custom = section.section("custom_provider_config");
  const retriesAndTimeout = retriesAndTimeoutOf(network);
  const type = custom?.text("base_provider_type");
  const chat = custom?.section("request_path_overrides")?.text("chat_completion");
  custom?.noteUnread(
    { is_key_less: "left out: a provider without keys needs no setting" },
    "left out: no counterpart; access rules can deny a route",
  );
  const known = presetOf(name, presets);
  const isCustom = custom !== undefined && !presets.has(name);
  const root =
    network && baseUrlOf(network, "base_url", isCustom ? undefined : known?.preset, variables, `${name}_BASE_URL`);
  network?.noteUnread(NETWORK_ADVICE, "left out: no counterpart");
  // Older form of the settings, which all keys of the provider share.
  const shared = section.section("meta_config");
  if (isCustom) {
    if ((type === "openai" || type === "anthropic") && root !== undefined)
      return customServer(name, { type, root, chat }, retriesAndTimeout, variables);
    section.addNote(
      "custom_provider_config",
      "left out: only servers with an API like OpenAI's or Anthropic's can be imported, and they need `network_config.base_url`",
    );
    return undefined;
  }
  if (name === "bedrock") return (key) => bedrock(key, section, shared, retriesAndTimeout, reading);
  if (known === undefined || known.preset === "vertex-openai" || name === "vertex") {
    section.addNote(
      "keys",
      "left out: the catalog has no such preset; name one with -preset NAME=PRESET, or add the provider by hand",
    );
    return undefined;
  }
  return (key) => presetServer(name, known, { key, section, shared, root, retriesAndTimeout, variables });
}

type RetriesAndTimeout = Pick<Endpoint, "retry" | "timeoutMs">;

interface CustomServer {
  /** Kind of API that the server has. */
  readonly type: "openai" | "anthropic";
  readonly root: string;
  /** Path of the chat operation, if it is not the usual one. */
  readonly chat: string | undefined;
}

/** Returns the connection to a server that the catalog does not know. */
function customServer(
  label: string,
  { type, root, chat }: CustomServer,
  retriesAndTimeout: RetriesAndTimeout,
  variables: Variables,
): Connect {
  const server =
    type === "openai"
      ? ({ label, dialect: "compat", baseUrl: withPath(root, chat) } as const)
      : ({ label, dialect: "messages", baseUrl: root } as const);
  return (key) => {
    const apiKey = key && secretIn(key, "value", `${label}_API_KEY`, variables);
    return { endpointFor: () => ({ ...server, apiKey, ...retriesAndTimeout }) };
  };
}

interface PresetInput {
  readonly key: Section | undefined;
  /** Section of the provider, which notes are added to. */
  readonly section: Section;
  /** Settings that all keys of the provider share. */
  readonly shared: Section | undefined;
  /** Address of the provider; that of a key precedes it. */
  readonly root: string | undefined;
  readonly retriesAndTimeout: RetriesAndTimeout;
  readonly variables: Variables;
}

/** Returns the connection to a provider of the catalog with one key. */
function presetServer(name: string, known: KnownPreset, input: PresetInput): ProviderConnection {
  const { key, section, shared, retriesAndTimeout, variables } = input;
  const { preset } = known;
  const apiKey = key && secretIn(key, "value", known.keyEnv === "" ? `${name}_API_KEY` : known.keyEnv, variables);
  const keyConfig = key?.section(`${name}_key_config`) ?? shared;
  const root = keyAddress(name, keyConfig, preset, variables) ?? input.root;
  const deployments = keyConfig?.section("deployments");
  const onlyModel = keyConfig?.text("model_name");
  keyConfig?.noteUnread(KEY_ADVICE, "left out: no counterpart");
  const baseUrl = root === undefined || known.dialect === "messages" ? root : withVersion(root);
  const isMissing = (known.needsBaseUrl || known.needsRegion) && baseUrl === undefined;
  if (isMissing) section.addNote("keys", `left out: preset \`${preset}\` needs an address`);
  const endpoint = { label: preset, preset, baseUrl, apiKey, ...retriesAndTimeout };
  return { endpointFor: () => (isMissing ? undefined : endpoint), deployments, onlyModel };
}

/** Returns the address in the settings of a key, which is a text or an object with `value`. */
function keyAddress(
  name: string,
  keyConfig: Section | undefined,
  preset: string,
  variables: Variables,
): string | undefined {
  if (keyConfig === undefined) return undefined;
  const addressKey = name === "azure" ? "endpoint" : "url";
  const inner = keyConfig.tree(addressKey)?.kind === "map" ? keyConfig.section(addressKey) : undefined;
  return inner === undefined
    ? baseUrlOf(keyConfig, addressKey, preset, variables, `${name}_URL`)
    : baseUrlOf(inner, "value", preset, variables, `${name}_URL`);
}

/** Adds the version that Bifrost appends to a root. A reference stays as it is. */
const withVersion = (root: string): string => (/\/v\d\w*$/.test(root) || root.includes("${") ? root : `${root}/v1`);

/** Returns the root that the path of the chat operation implies. */
function withPath(root: string, chat: string | undefined): string {
  const [, path] = /^(\/[\w./-]*?)?\/chat\/completions$/.exec(chat ?? "") ?? [];
  return chat?.endsWith("/chat/completions") === true ? `${root}${path ?? ""}` : withVersion(root);
}

function retriesAndTimeoutOf(network: Section | undefined): RetriesAndTimeout {
  if (network === undefined) return {};
  const ms = (key: string): number | undefined => network.number(network.has(`${key}_ms`) ? `${key}_ms` : key);
  return {
    retry: retryOf(network, "max_retries", network.number("max_retries"), {
      firstMs: ms("retry_backoff_initial"),
      maxMs: ms("retry_backoff_max"),
    }),
    timeoutMs: timeoutOf(network, "default_request_timeout_in_seconds", 1000),
  };
}

function bedrock(
  key: Section | undefined,
  section: Section,
  shared: Section | undefined,
  retriesAndTimeout: RetriesAndTimeout,
  { variables }: ReaderInput,
): ProviderConnection {
  const keyConfig = key?.section("bedrock_key_config") ?? shared;
  const apiKey = key && secretIn(key, "value", "AWS_BEARER_TOKEN_BEDROCK", variables);
  const place = keyConfig ?? section;
  const aws = awsOf(
    place,
    { region: "region", id: "access_key", secret: "secret_key", token: "session_token" },
    variables,
  );
  const deployments = keyConfig?.section("deployments");
  keyConfig?.noteUnread(
    {
      arn: "left out: no counterpart",
      role_arn: "left out: the credentials of the platform are used; set the role there",
    },
    "left out: no counterpart",
  );
  const connection = apiKey === undefined ? aws : { region: aws.region, apiKey };
  return {
    deployments,
    endpointFor(model) {
      const preset = /(^|\.)anthropic\./.test(model ?? "")
        ? "bedrock-anthropic"
        : /(^|\.)openai\./.test(model ?? "")
          ? "bedrock"
          : undefined;
      if (preset !== undefined) return { label: preset, preset, ...connection, ...retriesAndTimeout };
      section.addNote(
        "keys",
        "left out in part: only models that AWS serves through compatible APIs are imported, with names such as `anthropic.…` and `openai.…`; add others by hand (presets `bedrock`, `bedrock-mantle`)",
      );
      return undefined;
    },
  };
}

const NETWORK_ADVICE: Readonly<Record<string, string>> = {
  extra_headers: "left out, and not copied: a catalog overlay can set headers (`set_request_headers`)",
  insecure_skip_verify: "left out: certificates are always verified; add the authority to NODE_EXTRA_CA_CERTS",
  allow_private_network: "left out: providers may be on private networks",
  stream_idle_timeout_in_seconds: "left out: no counterpart",
};

const KEY_ADVICE: Readonly<Record<string, string>> = {
  api_version: "left out: the v1 API of Azure takes no api-version",
  client_id: "left out: the gateway presents an API key to Azure",
  client_secret: "left out, and not copied: the gateway presents an API key to Azure",
  tenant_id: "left out: the gateway presents an API key to Azure",
};

/** Reads a credential that is a text or an object with `value` and `env_var`. */
function secretIn(section: Section, key: string, variableName: string, variables: Variables): string | undefined {
  if (section.tree(key)?.kind !== "map") return variables.reference(section, key, variableName);
  const inner = section.section(key);
  const variable = inner?.text("env_var")?.replace(/^env\./, "") ?? "";
  if (/^[A-Za-z_]\w{0,254}$/.test(variable)) return variables.referenceTo(variable);
  const written = inner && variables.reference(inner, "value", variableName);
  if (written === undefined && variable !== "")
    inner?.addNote("env_var", "left out: not the name of an environment variable; set it by hand");
  return written;
}

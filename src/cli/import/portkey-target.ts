/** Converts one target of Portkey to an endpoint, with its key and the model name to send to it. */

import { awsOf } from "./aws-credential.ts";
import { baseUrlOf, hostLabel } from "./base-urls.ts";
import type { Endpoint, ReaderInput, Step } from "./deployment-draft.ts";
import { type Section, textOf } from "./foreign-source.ts";
import { type KnownPreset, presetOf, suggestedPreset } from "./presets.ts";
import { retryOf, timeoutOf } from "./retries-and-timeouts.ts";

/** Settings that targets inherit. */
export interface Inherited {
  readonly retry?: Endpoint["retry"];
  readonly timeoutMs?: number | undefined;
  readonly model?: string | undefined;
}

/** Returns the settings that the targets below this section inherit, and notes those that cannot be imported. */
export function inheritedOf(section: Section, above: Inherited): Inherited {
  const retry = section.section("retry");
  const attempts = retry?.number("attempts");
  const codes = retry?.tree("on_status_codes");
  if (codes?.kind === "list" && codes.items.some((item) => !/^(429|5\d\d)$/.test(textOf(item) ?? ""))) {
    retry?.addNote(
      "on_status_codes",
      "retries react to failed connections, 429 and every 5xx; other codes are not imported",
    );
  }
  retry?.noteUnread(
    { use_retry_after_header: "left out: the wait that a 429 asks for is respected, up to `retry_after_cap`" },
    "left out: no counterpart",
  );
  const override = section.section("override_params");
  const model = override?.text("model");
  override?.noteUnread({}, "left out: the gateway adds no parameters to requests; let clients send them");
  return {
    retry: retry === undefined ? above.retry : retryOf(retry, "attempts", attempts),
    timeoutMs: timeoutOf(section, "request_timeout", 1) ?? above.timeoutMs,
    model: model ?? above.model,
  };
}

/** Returns the step for a target; `undefined`, with a note, if the target cannot be imported. */
export function portkeyStep(
  section: Section,
  { retry, timeoutMs, model: override }: Inherited,
  reading: ReaderInput,
): Step | undefined {
  const [, slug, catalogModel] = /^@([^/]+)\/(.+)$/s.exec(override ?? "") ?? [];
  const provider = section.text("provider")?.replace(/^@/, "") ?? slug;
  const isKept = section.has("virtual_key") || slug !== undefined || section.text("provider")?.startsWith("@") === true;
  const name = provider ?? section.text("virtual_key");
  if (name === undefined) {
    if (section.has("config") || section.path.length > 0)
      section.addNote(section.keys[0] ?? "", "left out: it names no provider");
    return undefined;
  }
  const isWritten = provider !== undefined || reading.presets.has(name);
  const written = isWritten ? presetOf(name, reading.presets) : undefined;
  const suggested = written === undefined && isKept ? suggestedPreset(name) : undefined;
  const known = written ?? (suggested === undefined ? undefined : presetOf(suggested, reading.presets));
  const key = provider === undefined ? "virtual_key" : section.has("provider") ? "provider" : "override_params";
  if (known === undefined) {
    section.addNote(
      key,
      "left out: only Portkey knows which provider this name means; name it with -preset NAME=PRESET and import again",
    );
    return undefined;
  }
  if (suggested !== undefined)
    section.addNote(
      key,
      `imported as preset \`${known.preset}\`, which its name suggests; if it means another one, name it with -preset NAME=PRESET`,
    );
  const connection = connectionOf(section, name, known, reading);
  if (connection === undefined) return undefined;
  const apiKey = connection.cloudsig === undefined ? keyOf(section, name, known, isKept, reading) : undefined;
  section.leaveOutKey(
    "virtual_key",
    `not copied: Portkey keeps the key of the provider; set the variable that \`api_key\` names`,
  );
  const model = section.text("deployment_id") ?? catalogModel ?? override;
  for (const key of ["api_version", "resource_name"])
    section.leaveOutKey(key, "part of the address, which takes no api-version");
  const line = reading.source.lineOf(section.at);
  return { endpoint: { ...connection, apiKey, retry, timeoutMs }, model, line, unit: section.path };
}

function keyOf(
  section: Section,
  name: string,
  known: KnownPreset,
  isKept: boolean,
  { variables }: ReaderInput,
): string | undefined {
  const variableName = known.keyEnv === "" ? `${name}_API_KEY` : known.keyEnv;
  return (
    variables.reference(section, "api_key", variableName) ?? (isKept ? variables.referenceTo(variableName) : undefined)
  );
}

function connectionOf(section: Section, name: string, known: KnownPreset, reading: ReaderInput): Endpoint | undefined {
  const { variables } = reading;
  const { preset, dialect } = known;
  const host = baseUrlOf(section, "custom_host", preset, variables, `${name}_CUSTOM_HOST`);
  if (host !== undefined && preset === "openai" && !host.startsWith("https://api.openai.com")) {
    return { label: hostLabel(host, name), dialect, baseUrl: host };
  }
  if (host !== undefined) return { label: preset, preset, baseUrl: host };
  if (preset === "azure-openai") {
    const resource = section.text("resource_name");
    if (resource !== undefined && /^[a-z0-9-]{1,63}$/i.test(resource))
      return { label: preset, preset, baseUrl: `https://${resource}.openai.azure.com/openai/v1` };
    section.addNote(
      "provider",
      "the name of the resource is missing; set AZURE_OPENAI_BASE_URL to its address, which ends in /openai/v1",
    );
    return { label: preset, preset, baseUrl: variables.referenceTo("AZURE_OPENAI_BASE_URL", "address") };
  }
  if (preset === "bedrock") {
    section.addNote(
      "provider",
      "becomes preset `bedrock`, which serves models through an API like OpenAI's; use `bedrock-anthropic` for Claude",
    );
    return {
      label: preset,
      preset,
      ...awsOf(
        section,
        { region: "aws_region", id: "aws_access_key_id", secret: "aws_secret_access_key", token: "aws_session_token" },
        variables,
      ),
    };
  }
  if (known.needsBaseUrl || known.needsRegion) {
    section.addNote(
      "provider",
      `left out: preset \`${preset}\` needs an address; set \`custom_host\` and import again`,
    );
    return undefined;
  }
  return { label: preset, preset };
}

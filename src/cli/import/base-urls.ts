/**
 * Converts addresses of the source to `base_url`. Paths differ: some that clients of other gateways append are part of
 * our `base_url`, and the reverse.
 */

import type { Variables } from "./credential-references.ts";
import type { Section } from "./foreign-source.ts";

/**
 * Path corrections by preset: `cut` matches the end to remove from an address of the source, `add` is the end that the
 * preset needs.
 */
const ROOTS: Readonly<Record<string, { readonly suffix: RegExp; readonly add: string }>> = {
  "azure-openai": { suffix: /\/openai(\/.*)?$/, add: "/openai/v1" },
  "azure-foundry": { suffix: /\/anthropic(\/.*)?$/, add: "/anthropic" },
  anthropic: { suffix: /\/v1(\/messages)?$/, add: "" },
  ollama: { suffix: /\/(v1|api)(\/.*)?$/, add: "/v1" },
};

/** Matches the operation at the end of an address that should name the root. */
const OPERATION = /\/(chat\/completions|completions|embeddings|responses|messages)$/;

/** Matches a path step that may be a key: a UUID, `sk-…`, or 16 letters and digits in a row. */
const KEY_LIKE = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\/sk-\w|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16}/i;

/**
 * Returns an address, or `undefined` if there is none or it cannot be used, which gets a note. An address with a user, a query, a
 * fragment or a step that may be a key becomes a variable, because it may contain a credential.
 */
export function baseUrlOf(
  section: Section,
  key: string,
  preset: string | undefined,
  variables: Variables,
  variableName: string,
): string | undefined {
  const text = section.text(key)?.trim();
  if (text === undefined || text === "") return undefined;
  const root = preset !== undefined && Object.hasOwn(ROOTS, preset) ? ROOTS[preset] : undefined;
  const url =
    /^https?:\/\/[^/\\\s]/i.test(text) && text.length <= 2000 && !/[\s$`{}]/.test(text) && URL.canParse(text)
      ? new URL(text)
      : undefined;
  const path = url?.pathname.replace(/\/+$/, "").replace(OPERATION, "") ?? "";
  const written = root === undefined ? path : path.replace(root.suffix, "") + root.add;
  if (url === undefined || `${url.username}${url.password}${url.search}${url.hash}` !== "" || KEY_LIKE.test(written)) {
    const reference = variables.reference(section, key, variableName, "address");
    if (reference !== undefined && root !== undefined && root.add !== "") {
      section.addNote(key, `the value of the variable must end in ${root.add}`);
    }
    return reference;
  }
  if (/^(?:169\.254\.|\[fe[89ab][0-9a-f]:|\[::ffff:a9fe:|\[fd00:ec2:)/i.test(url.hostname)) {
    section.addNote(
      key,
      "left out: it is a link-local address, where machines serve the keys of their cloud account; use another address",
    );
    return undefined;
  }
  return `${url.origin}${written}`;
}

/** Returns a provider name for a server of the operator's own: its host without `www.` or `api.`. */
export function hostLabel(baseUrl: string | undefined, otherwise: string): string {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return otherwise;
  return new URL(baseUrl).hostname.replace(/^(www|api)\./, "") || otherwise;
}

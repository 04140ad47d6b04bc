/** Addresses of the source as a `base_url`: what their clients add to the address is part of ours, or not. */

import type { Variables } from "./keys.ts";
import type { Section } from "./source.ts";

/** What a preset's root has, and other gateways leave to their client. */
const ROOTS: Readonly<Record<string, { readonly cut: RegExp; readonly add: string }>> = {
  "azure-openai": { cut: /\/openai(\/.*)?$/, add: "/openai/v1" },
  "azure-foundry": { cut: /\/anthropic(\/.*)?$/, add: "/anthropic" },
  anthropic: { cut: /\/v1(\/messages)?$/, add: "" },
  ollama: { cut: /\/(v1|api)(\/.*)?$/, add: "/v1" },
};

/** What a client asks for below the root, and some write behind it. */
const OPERATION = /\/(chat\/completions|completions|embeddings|responses|messages)$/;

/** A UUID, what begins as keys do, or sixteen letters and digits in one. */
const KEY_LIKE = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\/sk-\w|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16}/i;

/**
 * Undefined where there is none, or none that can be taken, which is told. One that carries a user, a query, a fragment or
 * a step that may be a key, as addresses of hosted MCP servers do, becomes a variable: there a credential may be.
 */
export function baseUrlOf(
  section: Section,
  key: string,
  preset: string | undefined,
  variables: Variables,
  usual: string,
): string | undefined {
  const text = section.text(key)?.trim();
  if (text === undefined || text === "") return undefined;
  const root = preset !== undefined && Object.hasOwn(ROOTS, preset) ? ROOTS[preset] : undefined;
  const url =
    /^https?:\/\/[^/\\\s]/i.test(text) && text.length <= 2000 && !/[\s$`{}]/.test(text) && URL.canParse(text)
      ? new URL(text)
      : undefined;
  const path = url?.pathname.replace(/\/+$/, "").replace(OPERATION, "") ?? "";
  const written = root === undefined ? path : path.replace(root.cut, "") + root.add;
  if (url === undefined || `${url.username}${url.password}${url.search}${url.hash}` !== "" || KEY_LIKE.test(written)) {
    const reference = variables.reference(section, key, usual, "address");
    if (reference !== undefined && root !== undefined && root.add !== "") {
      section.tell(key, `the value of the variable must end in ${root.add}`);
    }
    return reference;
  }
  if (/^(?:169\.254\.|\[fe[89ab][0-9a-f]:|\[::ffff:a9fe:|\[fd00:ec2:)/i.test(url.hostname)) {
    section.tell(
      key,
      "left out: it is a link-local address, where machines serve the keys of their cloud account; use another address",
    );
    return undefined;
  }
  return `${url.origin}${written}`;
}

/** A name for a server of one's own: its host, without what is common to all. */
export function hostLabel(baseUrl: string | undefined, otherwise: string): string {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return otherwise;
  return new URL(baseUrl).hostname.replace(/^(www|api)\./, "") || otherwise;
}

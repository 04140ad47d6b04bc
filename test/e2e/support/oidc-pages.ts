/**
 * A person at the pages of the identity provider of `oidc.ts`: follows redirects, fills in and submits each form, keeps
 * cookies, and stops when there are no more forms.
 */

export interface Person {
  readonly login: string;
  /** Follows the cancel link at the first page that has one. */
  readonly cancels?: boolean;
  /** Entered on the page for device codes. */
  readonly userCode?: string;
}

export interface Arrived {
  /** Address of the last page, or of the final redirect to another site. */
  readonly url: string;
  readonly status: number;
  /** Body of that page; empty for a target on port 80, where no test listens. */
  readonly body: string;
}

/** More steps than any sign-in; a loop ends here. */
const MAX_STEPS = 20;

export async function walk(start: string, issuer: string, person: Person): Promise<Arrived> {
  const cookies = new Map<string, string>();
  let next: Step = { url: start };
  let hasCancelled = false;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { url, form } = next;
    if (new URL(url).origin !== issuer) return leave(url);
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form === undefined ? {} : { method: "POST", body: form }),
    });
    for (const line of answer.headers.getSetCookie()) keep(line, cookies);
    const location = answer.headers.get("location");
    const body = await answer.text();
    const following: Step | undefined =
      location === null ? (hasCancelled ? undefined : formOf(body, url, person)) : { url: new URL(location, url).href };
    if (following === undefined) return { url, status: answer.status, body };
    hasCancelled ||= following.url.endsWith("/abort");
    next = following;
  }
  throw new Error(`the sign-in does not end: ${next.url}`);
}

interface Step {
  readonly url: string;
  readonly form?: URLSearchParams;
}

async function leave(url: string): Promise<Arrived> {
  if (new URL(url).port === "") return { url, status: 0, body: "" };
  const answer = await fetch(url, { redirect: "manual" });
  return { url, status: answer.status, body: await answer.text() };
}

function keep(line: string, cookies: Map<string, string>): void {
  const [pair = ""] = line.split(";");
  const at = pair.indexOf("=");
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
  if (value === "") cookies.delete(name);
  else cookies.set(name, value);
}

function formOf(body: string, url: string, person: Person): Step | undefined {
  const form = /<form[^>]*>/i.exec(body)?.[0];
  if (form === undefined) return undefined;
  const abort = /<a href="([^"]*\/abort)"/.exec(body)?.[1];
  if (person.cancels === true && abort !== undefined) return { url: new URL(unescapeHtml(abort), url).href };
  const action = attribute(form, "action") ?? url;
  const fields = new URLSearchParams();
  for (const [input] of body.matchAll(/<input[^>]*>/gi)) {
    const name = attribute(input, "name");
    if (name !== undefined) fields.set(name, attribute(input, "value") ?? entered(name, person));
  }
  if (fields.get("user_code") === "") throw new Error("a device code is asked for");
  return { url: new URL(action, url).href, form: fields };
}

function entered(name: string, { login, userCode = "" }: Person): string {
  if (name === "login") return login;
  return name === "user_code" ? userCode : "any";
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescapeHtml(value);
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

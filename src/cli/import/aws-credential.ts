/** Converts AWS keys and regions to a `cloudsig` credential. Without keys, it uses those of the platform. */

import type { Variables } from "./credential-references.ts";
import type { Endpoint } from "./deployment-draft.ts";
import type { Section } from "./foreign-source.ts";

interface AwsKeys {
  readonly region: string;
  readonly id: string;
  readonly secret: string;
  readonly token: string;
}

const REGION = /^[a-z0-9-]{1,63}$/;

export function awsOf(section: Section, keys: AwsKeys, variables: Variables): Pick<Endpoint, "region" | "cloudsig"> {
  const text = section.text(keys.region)?.trim();
  const region =
    text !== undefined && REGION.test(text)
      ? text
      : (variables.reference(section, keys.region, "AWS_REGION_NAME") ?? variables.referenceTo("AWS_REGION_NAME"));
  const id = variables.reference(section, keys.id, "AWS_ACCESS_KEY_ID");
  const secret = variables.reference(section, keys.secret, "AWS_SECRET_ACCESS_KEY");
  const token = variables.reference(section, keys.token, "AWS_SESSION_TOKEN");
  if (id === undefined || secret === undefined) {
    if (id !== undefined || secret !== undefined)
      section.addNote(
        id === undefined ? keys.secret : keys.id,
        "left out: the other half of the key pair is missing; set both",
      );
    return { region, cloudsig: {} };
  }
  return {
    region,
    cloudsig: { access_key_id: id, secret_access_key: secret, ...(token !== undefined && { session_token: token }) },
  };
}

/** `auth`: accepted credentials of data-plane callers. Spec: document 3, `auth`. If absent, callers are anonymous. */

import { choice, flag, list, object, orEmpty, required, text, withDefault } from "../schema/schema.ts";
import { filledAs } from "./terms.ts";

const selection = object(
  "This section chooses the profile of a caller by a claim of the token.",
  {
    claim: required(
      filledAs(
        "This claim decides. It is a string or a list of strings that the issuer assigns, such as `groups` or `sub`.",
        "groups",
      ),
    ),
    trust_claim: withDefault(
      flag(
        "Set this to true if `claim` is a claim such as `email` that users of some issuers can change, and users of this issuer cannot.",
      ),
      false,
    ),
    select: required(
      list(
        "The entries are tried in this order, and the first whose value the claim contains decides.",
        object("One value of the claim, and the profile that it gives.", {
          value: required(filledAs("The value is compared exactly with those of the claim.", "ml-research")),
          profile: required(filledAs("The name of an entry of `profiles`.", "research")),
        }),
        { minItems: 1 },
      ),
    ),
  },
  { examples: [{ claim: "groups", select: [{ value: "ml-research", profile: "research" }] }] },
);

const issuer = object(
  "One issuer whose tokens are accepted on the data plane.",
  {
    issuer: required(filledAs("The name of an entry of the node file's `issuers`.", "corp")),
    audience: required(
      filledAs(
        "The `aud` claim of a token must contain this value. Use another audience than the admin API's.",
        "models",
      ),
    ),
    subject: required(choice("The kind of caller that a token of this issuer stands for.", ["agent", "user"])),
    profile: orEmpty(
      text(
        "The name of the profile of this issuer's callers, if `profiles` selects none. If it is empty or absent, they have no profile.",
        { examples: ["staff"] },
      ),
    ),
    profiles: selection,
  },
  { examples: [{ issuer: "corp", audience: "models", subject: "user", profile: "staff" }] },
);

export const auth = object(
  "This section requires every request to carry a credential: a virtual key or a token of one of the issuers. Without the section the data plane is anonymous.",
  {
    virtual_keys: withDefault(
      flag(
        "If true, keys minted with `gateway keys mint` or through the admin API are accepted. If false, they are refused.",
      ),
      false,
    ),
    issuers: withDefault(list("JWTs of these issuers are accepted.", issuer), []),
  },
  {
    examples: [
      {
        virtual_keys: true,
        issuers: [{ issuer: "corp", audience: "models", subject: "user", profile: "staff" }],
      },
    ],
  },
);

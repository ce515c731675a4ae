import { expect, test } from "vitest";
import { parseOffer } from "./offer";

const id = "ofr_0123456789abcdef";
const secret = "s".repeat(43);
const pin = `sha256/${"p".repeat(43)}`;

test("a fragment holds id, secret and pin", () => {
  expect(parseOffer(`#${id}.${secret}.${pin}`)).toEqual({ id, secret, pin });
});

test("an escaped slash is a slash", () => {
  expect(parseOffer(`#${id}.${secret}.${pin.replace("/", "%2F")}`)).toEqual({ id, secret, pin });
});

test("a link that lost a part is no offer", () => {
  for (const part of ["", "#", id, `${id}.${secret}`, `${id}.${secret}.`, `${id}.${secret.slice(1)}.${pin}`, `req_0123456789abcdef.${secret}.${pin}`]) {
    expect(parseOffer(part)).toBeNull();
  }
});

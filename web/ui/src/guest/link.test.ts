import { expect, test } from "vitest";
import { parseGuestLink } from "./link";

const SECRET = "s".repeat(43);
const PIN = `sha256/${"p".repeat(43)}`;

test("a whole link is read, also with an escaped slash", () => {
  const expected = { id: "gst_0123456789abcdef", secret: SECRET };
  expect(parseGuestLink(`#gst_0123456789abcdef.${SECRET}.${PIN}`)).toEqual(expected);
  expect(parseGuestLink(`#gst_0123456789abcdef.${SECRET}.${PIN.replace("/", "%2F")}`)).toEqual(expected);
});

test("what is cut off, or another link, is none", () => {
  for (const text of ["", "#", `#gst_0123456789abcdef.${SECRET}`, `#ofr_0123456789abcdef.${SECRET}.${PIN}`, `#gst_1.${SECRET}.${PIN}`]) {
    expect(parseGuestLink(text)).toBeNull();
  }
});

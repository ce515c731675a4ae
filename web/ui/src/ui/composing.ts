/**
 * Whether a key goes to the input method, as the Enter that confirms a conversion. WebKit ends the composition before it tells of
 * that key, so only its key code says so there. A composition that ended just before is no sign by itself: an Android keyboard ends
 * one before the Enter that is meant.
 */
export function isForInputMethod({ isComposing, keyCode }: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  return isComposing || keyCode === PROCESSED;
}

/** UI Events: the key code of a key that an input method has. */
const PROCESSED = 229;

/** What kind of window an offer was opened in. */
export type WindowKind =
  /** A browser's own, which keeps what it is given. */
  | "browser"
  /** One inside of another app, whose keys nobody finds again. */
  | "in_app"
  /** A private one: it forgets the key when it is closed. */
  | "private";

/** What is known of a window. */
export interface WindowSigns {
  userAgent: string;
  /** Whether the origin's own files can be opened, which Safari and Firefox refuse in private windows. */
  hasFiles: boolean;
}

/** The kind of a window, by what it says of itself. */
export function kindOf({ userAgent, hasFiles }: WindowSigns): WindowKind {
  if (IN_APP.some((sign) => sign.test(userAgent))) return "in_app";
  return hasFiles ? "browser" : "private";
}

/** Looks at this window. */
export async function thisWindow(): Promise<WindowKind> {
  return kindOf({ userAgent: navigator.userAgent, hasFiles: await opensFiles() });
}

/** A browser that does not know such files says nothing by that. */
async function opensFiles(): Promise<boolean> {
  const { storage } = navigator;
  if (!storage || !("getDirectory" in storage)) return true;
  return storage.getDirectory().then(
    () => true,
    () => false,
  );
}

/** The words by which apps name their own browsers: Meta's, LINE, WeChat, X, LinkedIn, Snapchat, TikTok, Pinterest, Google's, and every Android WebView. */
const IN_APP = [/\bFB(AN|AV|IOS)\b/, /Instagram/, /\bLine\//, /MicroMessenger/, /Twitter/, /LinkedInApp/, /Snapchat/, /musical_ly|TikTok|BytedanceWebview/, /Pinterest\//, /\bGSA\//, /; wv\)/];

import { DevicePage } from "./device/page";
import { Workspace } from "./desktop/page";
import { isWide } from "./desktop/workspace";
import { GuestPage } from "./guest/page";
import { Home } from "./home/page";
import { verdict } from "./keys/access";
import { Pairing } from "./pairing/page";
import { Help } from "./palette/help";
import { Palette } from "./palette/palette";
import { route } from "./router";
import { strings } from "./strings";
import { SessionPage } from "./terminal/page";
import { Ended, HomeLink, Message } from "./ui/message";

/** The screen of the address; a device that is trusted no more sees that and nothing else, except to pair anew or as a guest. */
export function App() {
  const at = route.value;
  if (at.kind === "pair") return <Pairing />;
  if (at.kind === "guest") return <GuestPage />;
  if (verdict.value) return <Ended reason={verdict.value} />;
  if (at.kind === "device") return <DevicePage />;
  if (at.kind === "home" || at.kind === "session") {
    return (
      <>
        {isWide.value ? <Workspace /> : at.kind === "home" ? <Home /> : <SessionPage key={at.id} id={at.id} />}
        <Palette />
        <Help />
      </>
    );
  }
  const { title, text } = strings.ended.unknownPage;
  return (
    <Message kind="unknown_page" title={title} text={text}>
      <HomeLink />
    </Message>
  );
}

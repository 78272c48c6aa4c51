// Opens functions in the reader's editor, by an address or by a command that is copied. The choice stays in the browser.
import {copyText, element, find} from "./tools.js";

const KEY = "flameprobe-editor";
export const FORMS = [["VS Code", "vscode://file{file}:{line}"], ["IntelliJ, CLion", "idea://open?file={file}&line={line}"], ["Copy a command", "$EDITOR +{line} {file}"]];
const SCRIPTS = /^(javascript|data|vbscript|blob):/i;

const quoted = (path) => /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`;

// {address} or {command} for a place in a file.
export function editorFor(form, file, line) {
  const address = /^[a-z][a-z0-9+.-]*:/i.test(form), path = address ? encodeURI(file).replace(/[?#&]/g, encodeURIComponent) : quoted(file);
  const text = form.replaceAll("{file}", () => path).replaceAll("{line}", String(line || 1));
  return address ? SCRIPTS.test(form) ? null : {address: text} : {command: text};
}

export class Editor {
  // tell(text): says what was done.
  constructor(profile, dialog, tell) {
    Object.assign(this, {tell, dialog, form: ""});
    try { this.form = localStorage.getItem(KEY) ?? ""; } catch { /* a sandboxed frame has none */ }
    this.use(profile);
    const label = element(dialog, "label", {id: "editor-label"}, "Editor "), list = element(dialog, "datalist", {id: "editors"});
    this.field = element(label, "input", {id: "editor", list: "editors", placeholder: FORMS[0][1], spellcheck: "false", title: "An address, or a command to copy, with {file} and {line}"});
    for (const [name, form] of FORMS) element(list, "option", {value: form}, name);
    this.field.value = this.form;
    this.field.addEventListener("change", () => {
      this.form = this.field.value.trim();
      try { localStorage.setItem(KEY, this.form); } catch { /* it holds for this page */ }
    });
  }
  use(profile) { Object.assign(this, {profile, here: new Set(profile.here)}); }
  has(fn) { return this.here.has(this.profile.functions.file[fn]); }
  open(fn) {
    const {profile} = this, at = this.form && editorFor(this.form, profile.path(fn), profile.functions.line[fn]);
    if (!at) {
      this.dialog.showModal();
      return this.field.focus();
    }
    if (at.address) {
      const link = element(document.body, "a", {href: at.address, hidden: ""});
      link.click();
      return link.remove();
    }
    copyText(at.command);
    this.tell("copied: " + at.command);
  }
}

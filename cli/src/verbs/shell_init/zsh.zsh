# Transom's marks for zsh: where a prompt, a command and its output begin and end (OSC 133).
# In ~/.zshrc, as the last line:  eval "$(transom shell-init zsh)"
if [[ -o interactive && ${TERM-} != dumb ]]; then
  typeset -g __transom_a=$'%{\e]133;A\a%}' __transom_b=$'%{\e]133;B\a%}' __transom_ran=0

  __transom_preexec() {
    __transom_ran=1
    print -rn -- $'\e]133;C\a'
  }
  __transom_precmd() {
    local code=$?
    emulate -L zsh
    # A program that was killed may have left reports of the mouse and of focus on: they would be typed here.
    (( __transom_ran )) && print -rn -- $'\e[?1000;1002;1003;1004;1005;1006l\e]133;D;'$code$'\a'
    __transom_ran=0
    # Whatever the other hooks made of the prompt, the marks stand around it once.
    PS1=${PS1//"$__transom_a"/}
    PS1=${PS1//"$__transom_b"/}
    PS1=$__transom_a$PS1$__transom_b
    # A hook that was added later may write the prompt too: this one stays the last.
    [[ ${precmd_functions[-1]} == __transom_precmd ]] ||
      precmd_functions=(${precmd_functions:#__transom_precmd} __transom_precmd)
  }
  autoload -Uz add-zsh-hook
  add-zsh-hook preexec __transom_preexec
  add-zsh-hook precmd __transom_precmd
fi

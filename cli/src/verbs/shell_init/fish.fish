# Transom's marks for fish: where a prompt, a command and its output begin and end (OSC 133).
# In ~/.config/fish/config.fish:  transom shell-init fish | source
if status is-interactive; and test "$TERM" != dumb
    # A program that was killed may have left reports of the mouse and of focus on: they would be typed here.
    function __transom_quiet --on-event fish_postexec
        printf '\e[?1000;1002;1003;1004;1005;1006l'
    end
end
# fish 4 and newer writes marks of its own.
if status is-interactive; and test "$TERM" != dumb; and test (string split . -- $version)[1] -lt 4
    function __transom_prompt
        # Around the prompt as it is now, however it was defined; its status is the last command's.
        set -l code $status
        printf '\e]133;A\a'
        __transom_status $code
        __transom_prompt_within
        printf '\e]133;B\a'
    end
    function __transom_status
        return $argv[1]
    end
    function __transom_wrap --on-event fish_prompt
        functions fish_prompt | string match -q '*__transom_prompt*'; and return
        functions -e __transom_prompt_within
        functions -c fish_prompt __transom_prompt_within
        function fish_prompt
            __transom_prompt
        end
    end
    function __transom_preexec --on-event fish_preexec
        printf '\e]133;C\a'
    end
    function __transom_postexec --on-event fish_postexec
        printf '\e]133;D;%s\a' $status
    end
    __transom_wrap
end

# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ulp_global_optspecs
    string join \n z/compress d/decompress t/test l/list json tensor= range= npy chain at= salvage c/stdout o/output= f/force ref= bank= k/keep 1 5 9 2 3 4 6 7 8 dtype= columns= meta= external-bank frozen-only sha256 T/threads= memory= q/quiet v/verbose progress no-progress generate= h/help V/version
end

function __fish_ulp_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ulp_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ulp_using_subcommand
    set -l cmd (__fish_ulp_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ulp -n "__fish_ulp_needs_command" -l tensor -d 'With -d: only the tensors of this name or pattern; repeatable' -r
complete -c ulp -n "__fish_ulp_needs_command" -l range -d 'With -d: only bytes A to B − 1 of the content' -r
complete -c ulp -n "__fish_ulp_needs_command" -l at -d 'With --chain: the content of step K, 1 for the first' -r
complete -c ulp -n "__fish_ulp_needs_command" -s o -l output -d 'Write to FILE; \'-\' is standard output, even a terminal' -r -F
complete -c ulp -n "__fish_ulp_needs_command" -l ref -d 'Code against FILE, which decompression needs again; repeatable' -r -F
complete -c ulp -n "__fish_ulp_needs_command" -l bank -d 'Use the statistics in FILE, made by \'ulp bank train\'; with -d, where the input needs it' -r -F
complete -c ulp -n "__fish_ulp_needs_command" -l dtype -d 'Type of the numbers: bf16, f16, f32, f64, … or auto' -r
complete -c ulp -n "__fish_ulp_needs_command" -l columns -d 'Row length of the input\'s matrix, in numbers' -r
complete -c ulp -n "__fish_ulp_needs_command" -l meta -d 'Store a key and a value in the stream; repeatable' -r
complete -c ulp -n "__fish_ulp_needs_command" -s T -l threads -d 'Worker threads, 0 for one per core; the output does not depend on it' -r
complete -c ulp -n "__fish_ulp_needs_command" -l memory -d 'Most memory to use, such as 64MiB; the output does not depend on it' -r
complete -c ulp -n "__fish_ulp_needs_command" -l generate -d 'Print the man page or a shell\'s completions' -r -f -a "man\t''
complete-bash\t''
complete-zsh\t''
complete-fish\t''"
complete -c ulp -n "__fish_ulp_needs_command" -s z -l compress -d 'Compress'
complete -c ulp -n "__fish_ulp_needs_command" -s d -l decompress -d 'Decompress'
complete -c ulp -n "__fish_ulp_needs_command" -s t -l test -d 'Decompress to nowhere: check the input'
complete -c ulp -n "__fish_ulp_needs_command" -s l -l list -d 'Describe the input, or several FILEs'
complete -c ulp -n "__fish_ulp_needs_command" -l json -d 'With -l or -v: one JSON object'
complete -c ulp -n "__fish_ulp_needs_command" -l npy -d 'With --tensor: write an npy file'
complete -c ulp -n "__fish_ulp_needs_command" -l chain -d 'With -d or -t: the FILEs are deltas, each to the one before'
complete -c ulp -n "__fish_ulp_needs_command" -l salvage -d 'With -d or -t: put zeros for damaged chunks and go on'
complete -c ulp -n "__fish_ulp_needs_command" -s c -l stdout -d 'Write to standard output (the default)'
complete -c ulp -n "__fish_ulp_needs_command" -s f -l force -d 'Let -o replace an existing file'
complete -c ulp -n "__fish_ulp_needs_command" -s k -l keep -d 'Keep the input (always so)'
complete -c ulp -n "__fish_ulp_needs_command" -s 1 -d 'Fast'
complete -c ulp -n "__fish_ulp_needs_command" -s 5 -d 'The balance (the default)'
complete -c ulp -n "__fish_ulp_needs_command" -s 9 -d 'Small'
complete -c ulp -n "__fish_ulp_needs_command" -s 2 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -s 3 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -s 4 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -s 6 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -s 7 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -s 8 -d 'The nearest of -1, -5 and -9'
complete -c ulp -n "__fish_ulp_needs_command" -l external-bank -d 'Leave the tables of --bank out: decompression needs FILE again'
complete -c ulp -n "__fish_ulp_needs_command" -l frozen-only -d 'Use no other statistics than those of --bank, however badly they suit'
complete -c ulp -n "__fish_ulp_needs_command" -l sha256 -d 'Store the content\'s SHA-256 in the stream, or check it'
complete -c ulp -n "__fish_ulp_needs_command" -s q -l quiet -d 'No notes and no automatic progress; errors are always shown'
complete -c ulp -n "__fish_ulp_needs_command" -s v -l verbose -d 'End with a summary'
complete -c ulp -n "__fish_ulp_needs_command" -l progress -d 'Show progress, even without a terminal'
complete -c ulp -n "__fish_ulp_needs_command" -l no-progress -d 'Show no progress'
complete -c ulp -n "__fish_ulp_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ulp -n "__fish_ulp_needs_command" -s V -l version -d 'Print version'
complete -c ulp -n "__fish_ulp_needs_command" -a "apply" -d 'Apply a delta to the file it was made against'
complete -c ulp -n "__fish_ulp_needs_command" -a "bank" -d 'Make and describe bank files: statistics for --bank'
complete -c ulp -n "__fish_ulp_needs_command" -a "stat" -d 'Measure a checkpoint, against the one before or alone: entropies, active bits, sizes under several models'
complete -c ulp -n "__fish_ulp_using_subcommand apply" -l in-place -d 'The file to be changed' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand apply" -l bank -d 'A bank file that the delta may need; repeatable' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand apply" -s T -l threads -d 'Worker threads, 0 for one per core' -r
complete -c ulp -n "__fish_ulp_using_subcommand apply" -l memory -d 'Most memory to use, such as 64MiB; a delta that needs more is refused' -r
complete -c ulp -n "__fish_ulp_using_subcommand apply" -s v -l verbose -d 'End with a summary'
complete -c ulp -n "__fish_ulp_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and not __fish_seen_subcommand_from train show" -s h -l help -d 'Print help'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and not __fish_seen_subcommand_from train show" -f -a "train" -d 'Make a bank file from sample checkpoints'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and not __fish_seen_subcommand_from train show" -f -a "show" -d 'Describe a bank file'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -s o -l output -d 'Write the bank file to FILE' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l ref -d 'Learn references too: one for each sample in order, or one for all' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l group -d 'What shares a bank: all, the same tensor, nothing, what is alike, or what costs less so' -r -f -a "global\t''
tensor\t''
chunk\t''
js\t''
cost\t''"
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l tau -d 'Largest distance of what is alike with --group js, 0 to 1' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l tables -d 'Most tables of a bank' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l block -d 'Log2 of the block length, 5 to 20, or 0 for none; by default what suits the samples' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l dtype -d 'Type of the numbers: bf16, f16, f32, f64, … or auto' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l columns -d 'Row length of the samples\' matrix, in numbers' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -s T -l threads -d 'Worker threads, 0 for one per core' -r
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -s f -l force -d 'Let -o replace a file'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -l no-plain -d 'Learn nothing of samples without their references'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -s q -l quiet -d 'Print nothing'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from train" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from show" -l json -d 'One JSON object'
complete -c ulp -n "__fish_ulp_using_subcommand bank; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c ulp -n "__fish_ulp_using_subcommand stat" -l ref -d 'The checkpoint before, of the same kinds; repeatable' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand stat" -l plot -d 'Draw lengths by exponent, active bits and sizes by tensor into an SVG file' -r -F
complete -c ulp -n "__fish_ulp_using_subcommand stat" -l dtype -d 'Type of all numbers of a file without headers: bf16, f16, f32, f64, …' -r
complete -c ulp -n "__fish_ulp_using_subcommand stat" -l level -d 'Level of the streams whose sizes are told' -r
complete -c ulp -n "__fish_ulp_using_subcommand stat" -s T -l threads -d 'Worker threads, 0 for one per core; the figures do not depend on it' -r
complete -c ulp -n "__fish_ulp_using_subcommand stat" -l json -d 'One JSON object, with counts by exponent, length and bit'
complete -c ulp -n "__fish_ulp_using_subcommand stat" -s f -l force -d 'Let --plot replace an existing file'
complete -c ulp -n "__fish_ulp_using_subcommand stat" -s h -l help -d 'Print help'

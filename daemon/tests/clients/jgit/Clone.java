import java.io.File;
import java.io.PrintWriter;
import org.eclipse.jgit.api.CloneCommand;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.lib.TextProgressMonitor;

/**
 * Clones a repository with JGit. Arguments: the address, the directory, the depth (0: everything), and "progress" or
 * "quiet". Prints the ID of the commit that HEAD points to.
 */
public class Clone {
    public static void main(String[] args) throws Exception {
        CloneCommand clone = Git.cloneRepository().setURI(args[0]).setDirectory(new File(args[1]));
        if (!args[2].equals("0")) {
            clone.setDepth(Integer.parseInt(args[2]));
        }
        if (args[3].equals("progress")) {
            clone.setProgressMonitor(new TextProgressMonitor(new PrintWriter(System.err)));
        }
        try (Git git = clone.call()) {
            System.out.println(git.getRepository().resolve("HEAD").name());
        }
    }
}
